// Normalizers of a few lines each. Source: HF tokenizers 0.23, normalizers/*.rs.
#include <algorithm>

#include "text/byte_chars.h"
#include "text/hf_unicode.h"
#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

// A normalizer made of one function.
template <typename Apply>
class NormalizerOf : public Normalizer {
 public:
  explicit NormalizerOf(Apply apply) : apply_(std::move(apply)) {}
  Status normalize(AlignedText& text) const override { return apply_(text); }

 private:
  Apply apply_;
};

template <typename Apply>
std::unique_ptr<Normalizer> normalizer_of(Apply apply) {
  return std::make_unique<NormalizerOf<Apply>>(std::move(apply));
}

bool nmt_drops(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f ||
         c == 0x9f;
}

bool nmt_blanks(char32_t c) {
  return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

void strip(AlignedText& text, StripSides sides) {
  const std::string_view old = text.text();
  size_t begin = 0, end = old.size();
  while (sides.left && begin < end) {
    size_t pos = begin;
    if (!is_whitespace(next_char(old, pos))) break;
    begin = pos;
  }
  while (sides.right && end > begin) {
    const size_t before = previous_char(old, end);
    size_t pos = before;
    if (!is_whitespace(next_char(old, pos))) break;
    end = before;
  }
  if (begin == 0 && end == old.size()) return;
  TextRewriter out(text);
  out.keep(begin, end);
  out.commit();
}

Status replace(AlignedText& text, const Pattern& pattern, const std::string& content) {
  const std::string_view old = text.text();
  std::vector<Part> parts;
  SKUA_RETURN_IF_ERROR(pattern.find_parts(old, parts));
  size_t n_matches = 0;
  for (const Part& part : parts) n_matches += part.is_match;
  if (n_matches == 0) return ok_status();
  // A chain of them that each double the text would take all memory there is.
  if (n_matches * content.size() > std::max(size_t{16} << 20, 4 * text.input_size())) {
    return resource_exhausted(
        "[normalizer] Replace makes more than 16 MiB and more than four times the text; the tokenizer's file "
        "is "
        "broken or made to harm");
  }
  TextRewriter out(text);
  for (const Part& part : parts) {
    if (part.is_match) {
      out.emit(content, part.end == 0 ? TextRewriter::kNoOrigin : part.end - 1);
    } else {
      out.keep(part.begin, part.end);
    }
  }
  out.commit();
  return ok_status();
}

}  // namespace

void apply_changes(AlignedText& text, const std::vector<CharChange>& changes) {
  const std::string_view old = text.text();
  TextRewriter out(text);
  size_t pos = 0;  // next character of the old text
  std::string bytes;
  for (const CharChange& change : changes) {
    bytes.clear();
    append_utf8(bytes, change.c);
    if (change.change > 0) {
      out.emit(bytes, pos == 0 ? TextRewriter::kNoOrigin : pos - 1);
      continue;
    }
    out.emit(bytes, std::min(pos, old.size() - 1));
    for (int n = change.change; n <= 0 && pos < old.size(); ++n) pos += utf8_length(old[pos]);
  }
  out.commit();
}

void lowercase(AlignedText& text) {
  const std::string_view old = text.text();
  TextRewriter out(text);
  std::u32string lower;
  size_t kept = 0;
  bool changed = false;
  for (size_t pos = 0; pos < old.size();) {
    const size_t begin = pos;
    const char32_t c = next_char(old, pos);
    lower.clear();
    hf_append_lower(lower, c);
    if (lower.size() == 1 && lower[0] == c) continue;
    out.keep(kept, begin);
    for (const char32_t l : lower) out.emit(l, begin);
    kept = pos;
    changed = true;
  }
  if (!changed) return;
  out.keep(kept, old.size());
  out.commit();
}

std::unique_ptr<Normalizer> make_lowercase() {
  return normalizer_of([](AlignedText& text) {
    lowercase(text);
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_strip_accents() {
  return normalizer_of([](AlignedText& text) {
    filter_chars(text, [](char32_t c) { return !hf_is_combining_mark(c); });
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_nmt() {
  return normalizer_of([](AlignedText& text) {
    filter_chars(text, [](char32_t c) { return !nmt_drops(c); });
    std::vector<CharChange> changes;
    for (const char32_t c : to_utf32(text.text())) changes.push_back({nmt_blanks(c) ? U' ' : c, 0});
    apply_changes(text, changes);
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_strip(StripSides sides) {
  return normalizer_of([sides](AlignedText& text) {
    strip(text, sides);
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_prepend(std::string prefix) {
  return normalizer_of([prefix = std::move(prefix)](AlignedText& text) {
    if (text.text().empty()) return ok_status();
    TextRewriter out(text);
    out.emit(prefix, 0);
    out.keep(0, text.text().size());
    out.commit();
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_replace(Pattern pattern, std::string content) {
  // Pattern cannot be copied, and lambdas stored by value must be movable only.
  return normalizer_of(
      [pattern = std::make_shared<const Pattern>(std::move(pattern)),
       content = std::move(content)](AlignedText& text) { return replace(text, *pattern, content); });
}

std::unique_ptr<Normalizer> make_byte_level_normalizer() {
  return normalizer_of([](AlignedText& text) {
    const std::string_view old = text.text();
    TextRewriter out(text);
    for (size_t pos = 0; pos < old.size(); ++pos) out.emit(byte_char(static_cast<uint8_t>(old[pos])), pos);
    out.commit();
    return ok_status();
  });
}

std::unique_ptr<Normalizer> make_normalizer_sequence(std::vector<std::unique_ptr<Normalizer>> parts) {
  auto shared = std::make_shared<std::vector<std::unique_ptr<Normalizer>>>(std::move(parts));
  return normalizer_of([shared](AlignedText& text) {
    for (const auto& part : *shared) SKUA_RETURN_IF_ERROR(part->normalize(text));
    return ok_status();
  });
}

}  // namespace skua::text
