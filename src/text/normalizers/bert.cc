// BertNormalizer. Source: HF tokenizers 0.23, normalizers/bert.rs.
#include "text/hf_unicode.h"
#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

bool is_line_blank(char32_t c) { return c == '\t' || c == '\n' || c == '\r'; }

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void clean(AlignedText& text) {
  filter_chars(text,
               [](char32_t c) { return c != 0 && c != 0xfffd && (is_line_blank(c) || !hf_is_control(c)); });
  const std::string_view old = text.text();
  TextRewriter out(text);
  for (size_t pos = 0, begin = 0; pos < old.size(); begin = pos) {
    const char32_t c = next_char(old, pos);
    if (c != ' ' && is_whitespace(c)) {
      out.emit(" ", begin);
    } else {
      out.keep(begin, pos);
    }
  }
  out.commit();
}

void space_out_chinese(AlignedText& text) {
  const std::string_view old = text.text();
  TextRewriter out(text);
  for (size_t pos = 0, begin = 0; pos < old.size(); begin = pos) {
    if (!is_chinese(next_char(old, pos))) {
      out.keep(begin, pos);
      continue;
    }
    out.emit(" ", begin);
    out.keep(begin, pos);
    out.emit(" ", begin);
  }
  out.commit();
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  Status normalize(AlignedText& text) const override {
    if (options_.clean_text) clean(text);
    if (options_.handle_chinese_chars) space_out_chinese(text);
    if (options_.strip_accents.value_or(options_.lowercase)) {
      normalize_unicode(text, NormalForm::kNfd);
      filter_chars(text, [](char32_t c) { return !hf_is_nonspacing_mark(c); });
    }
    if (options_.lowercase) lowercase(text);
    return ok_status();
  }

 private:
  BertOptions options_;
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(BertOptions options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace skua::text
