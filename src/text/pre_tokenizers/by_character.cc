// The splitters that look at one character at a time.
// Source: HF tokenizers 0.23, pre_tokenizers/{bert,delimiter,digits,punctuation,whitespace,fixed_length}.rs.
#include "text/hf_unicode.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

bool is_bert_punctuation(char32_t c) {
  const bool ascii =
      (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return ascii || hf_is_punctuation(c);
}

template <typename Predicate>
class ByCharacter : public PreTokenizer {
 public:
  ByCharacter(Predicate matches, Behavior behavior) : matches_(matches), behavior_(behavior) {}
  Status split(Segment& segment) const override {
    return split_pieces(segment, behavior_, [&](std::string_view text, std::vector<Part>& parts) {
      parts_of_chars(text, matches_, parts);
      return ok_status();
    });
  }

 private:
  Predicate matches_;
  Behavior behavior_;
};

template <typename Predicate>
std::unique_ptr<PreTokenizer> by_character(Predicate matches, Behavior behavior) {
  return std::make_unique<ByCharacter<Predicate>>(matches, behavior);
}

enum class CharKind : uint8_t { kSpace, kWord, kOther };

CharKind kind_of(char32_t c) {
  if (hf_is_word(c)) return CharKind::kWord;
  return is_whitespace(c) ? CharKind::kSpace : CharKind::kOther;
}

class Whitespace : public PreTokenizer {
 public:
  Status split(Segment& segment) const override {
    return split_pieces(segment, Behavior::kRemoved, [](std::string_view text, std::vector<Part>& parts) {
      for (size_t pos = 0; pos < text.size();) {
        const size_t begin = pos;
        const CharKind kind = kind_of(next_char(text, pos));
        for (size_t next = pos; next < text.size(); pos = next) {
          if (kind_of(next_char(text, next)) != kind) break;
        }
        parts.push_back({begin, pos, kind == CharKind::kSpace});
      }
      return ok_status();
    });
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(size_t n_chars) : n_chars_(n_chars) {}
  Status split(Segment& segment) const override {
    return split_pieces(segment, Behavior::kIsolated, [&](std::string_view text, std::vector<Part>& parts) {
      for (size_t pos = 0; pos < text.size();) {
        const size_t begin = pos;
        for (size_t n = 0; n < n_chars_ && pos < text.size(); ++n) pos += utf8_length(text[pos]);
        parts.push_back({begin, pos, true});
      }
      return ok_status();
    });
  }

 private:
  size_t n_chars_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer() {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  parts.push_back(by_character(is_whitespace, Behavior::kRemoved));
  parts.push_back(by_character(is_bert_punctuation, Behavior::kIsolated));
  return make_sequence(std::move(parts));
}

std::unique_ptr<PreTokenizer> make_whitespace() { return std::make_unique<Whitespace>(); }
std::unique_ptr<PreTokenizer> make_whitespace_split() {
  return by_character(is_whitespace, Behavior::kRemoved);
}
std::unique_ptr<PreTokenizer> make_digits(Behavior behavior) { return by_character(hf_is_numeric, behavior); }
std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior) {
  return by_character(is_bert_punctuation, behavior);
}
std::unique_ptr<PreTokenizer> make_fixed_length(size_t n_chars) {
  return std::make_unique<FixedLength>(n_chars);
}

std::unique_ptr<PreTokenizer> make_char_delimiter_split(char32_t delimiter) {
  return by_character([delimiter](char32_t c) { return c == delimiter; }, Behavior::kRemoved);
}

}  // namespace skua::text
