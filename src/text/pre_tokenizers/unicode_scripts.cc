// UnicodeScripts: a new piece wherever the script changes. Kana counts as Han; spaces go with what is before
// them. Source: HF tokenizers 0.23, pre_tokenizers/unicode_scripts/pre_tokenizer.rs.
#include <unicode/uscript.h>

#include "text/hf_unicode.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr int32_t kAny = USCRIPT_UNKNOWN;
constexpr int32_t kNone = -1;

int32_t joined_script(char32_t c) {
  if (c == U' ' || !hf_has_script(c)) return kAny;
  if (c == 0x30fc) return USCRIPT_HAN;
  const int32_t script = script_code(c);
  return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? static_cast<int32_t>(USCRIPT_HAN)
                                                                  : script;
}

class UnicodeScripts : public PreTokenizer {
 public:
  Status split(Segment& segment) const override {
    return split_pieces(segment, Behavior::kRemoved, [](std::string_view text, std::vector<Part>& parts) {
      int32_t last = kNone;
      size_t begin = 0;
      bool started = false;
      for (size_t pos = 0; pos < text.size();) {
        const size_t at = pos;
        const int32_t script = joined_script(next_char(text, pos));
        if (script != kAny && last != script) {
          // What comes before the first script of a text is dropped.
          if (at > begin) parts.push_back({begin, at, !started});
          begin = at;
          started = true;
        }
        if (script != kAny) last = script;
      }
      if (begin < text.size()) parts.push_back({begin, text.size(), !started});
      return ok_status();
    });
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_unicode_scripts() { return std::make_unique<UnicodeScripts>(); }

}  // namespace skua::text
