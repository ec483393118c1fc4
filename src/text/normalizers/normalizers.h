// Makers of the normalizers, for loaders of any file format. The JSON forms are in load_normalizer.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/components.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace skua::text {

std::unique_ptr<Normalizer> make_unicode_normalizer(NormalForm form);
std::unique_ptr<Normalizer> make_lowercase();
std::unique_ptr<Normalizer> make_strip_accents();
std::unique_ptr<Normalizer> make_nmt();
struct StripSides {
  bool left = true;
  bool right = true;
};
std::unique_ptr<Normalizer> make_strip(StripSides sides);
std::unique_ptr<Normalizer> make_prepend(std::string prefix);
std::unique_ptr<Normalizer> make_replace(Pattern pattern, std::string content);
std::unique_ptr<Normalizer> make_byte_level_normalizer();
struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents;  // nothing: as `lowercase`
  bool lowercase = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(BertOptions options);
/// `charsmap`: SentencePiece's precompiled map, raw bytes. Errors: kInvalidArgument (it contradicts itself).
Result<std::unique_ptr<Normalizer>> make_precompiled(std::string_view charsmap);
/// SentencePiece's normalizer_spec.
struct SentencePieceRules {
  std::string charsmap;  // raw bytes; may be empty
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  std::vector<std::string> user_defined;  // symbols that are left as they are
};
/// Errors: as make_precompiled().
Result<std::unique_ptr<Normalizer>> make_sentencepiece_normalizer(SentencePieceRules rules);
std::unique_ptr<Normalizer> make_normalizer_sequence(std::vector<std::unique_ptr<Normalizer>> parts);

/// One character of a rewritten text. change 0: replaces the next character of the old text; -n: also
/// swallows the n behind it; 1: comes on top, and shares the origin of the character before. (HF's
/// NormalizedString::transform.)
struct CharChange {
  char32_t c = 0;
  int change = 0;
};
void apply_changes(AlignedText& text, const std::vector<CharChange>& changes);

/// Keeps the characters that `keep` wants.
template <typename Keep>
void filter_chars(AlignedText& text, Keep keep);

/// Brings a text to a normal form.
void normalize_unicode(AlignedText& text, NormalForm form);
void lowercase(AlignedText& text);

}  // namespace skua::text

#include "text/utf8.h"

namespace skua::text {

template <typename Keep>
void filter_chars(AlignedText& text, Keep keep) {
  const std::string_view old = text.text();
  TextRewriter out(text);
  size_t kept = 0;
  bool changed = false;
  for (size_t pos = 0; pos < old.size();) {
    const size_t begin = pos;
    if (keep(next_char(old, pos))) continue;
    out.keep(kept, begin);
    kept = pos;
    changed = true;
  }
  if (!changed) return;
  out.keep(kept, old.size());
  out.commit();
}

}  // namespace skua::text
