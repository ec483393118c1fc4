// Makers of the pre-tokenizers, for loaders of any file format. The JSON forms are in load_pre_tokenizer.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/components.h"
#include "text/pattern.h"

namespace skua::text {

struct ByteLevelOptions {
  bool add_prefix_space = true;  // put a space before a piece that does not start with one
  bool use_regex = true;         // split as GPT-2 does
};
/// Errors: none that a caller can cause.
Result<std::unique_ptr<PreTokenizer>> make_byte_level(ByteLevelOptions options);

/// Spells every byte of every piece with its byte-level character.
void spell_bytes(Segment& segment);

enum class Invert : uint8_t { kNo, kYes };  // kYes: what lies between the matches counts as the matches
std::unique_ptr<PreTokenizer> make_split(Pattern pattern, Behavior behavior, Invert invert);

enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };
struct MetaspaceOptions {
  std::string replacement = "\u2581";
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;
};
std::unique_ptr<PreTokenizer> make_metaspace(MetaspaceOptions options);

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer();
std::unique_ptr<PreTokenizer> make_whitespace();  // words, and runs of anything else that is no space
std::unique_ptr<PreTokenizer> make_whitespace_split();
std::unique_ptr<PreTokenizer> make_char_delimiter_split(char32_t delimiter);
std::unique_ptr<PreTokenizer> make_digits(Behavior behavior);  // kIsolated: one by one; kContiguous: in runs
std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior);
std::unique_ptr<PreTokenizer> make_unicode_scripts();
std::unique_ptr<PreTokenizer> make_fixed_length(size_t n_chars);
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> parts);

}  // namespace skua::text
