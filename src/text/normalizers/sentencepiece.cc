// SentencePiece's own normalizer: the longest entry of the character map at every place, user-defined symbols
// left alone, whitespace runs joined, a space put in front, spaces made visible. Source: google/sentencepiece
// v0.2, src/normalizer.cc (Normalizer::Normalize, NormalizePrefix).
#include "text/normalizers/charsmap.h"
#include "text/normalizers/normalizers.h"
#include "text/prefix_trie.h"

namespace skua::text {
namespace {

constexpr std::string_view kMark = "\u2581";

class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(SentencePieceRules rules, std::optional<Charsmap> charsmap)
      : rules_(std::move(rules)), charsmap_(std::move(charsmap)) {
    std::vector<std::pair<std::string_view, int32_t>> entries;
    for (const std::string& symbol : rules_.user_defined) entries.emplace_back(symbol, 1);
    symbols_ = PrefixTrie(std::move(entries));
  }

  Status normalize(AlignedText& text) const override {
    const std::string_view old = text.text();
    TextRewriter out(text);
    size_t pos = 0;
    if (rules_.remove_extra_whitespaces) {
      while (pos < old.size() && step(old, pos).text == " ") pos += step(old, pos).length;
    }
    if (pos >= old.size()) {
      out.commit();
      return ok_status();
    }
    if (rules_.add_dummy_prefix) out.emit(space(), pos);
    bool after_space = rules_.remove_extra_whitespaces;
    size_t kept = out.size();  // end of the text without trailing spaces
    while (pos < old.size()) {
      const Step s = step(old, pos);
      std::string_view made = s.text;
      while (after_space && made.starts_with(' ')) made.remove_prefix(1);
      if (!made.empty()) {
        emit(out, made, pos);
        after_space = made.back() == ' ' && rules_.remove_extra_whitespaces;
        if (!after_space) kept = out.size();
      }
      pos += s.length;
    }
    if (rules_.remove_extra_whitespaces) out.truncate(kept);
    out.commit();
    return ok_status();
  }

 private:
  struct Step {
    size_t length;
    std::string_view text;
  };

  // What stands at `pos`, and what it becomes.
  Step step(std::string_view text, size_t pos) const {
    size_t symbol = 0;
    symbols_.each_prefix(text, pos, [&](size_t length, int32_t) { symbol = length; });
    if (symbol > 0) return {symbol, text.substr(pos, symbol)};
    if (charsmap_) {
      if (const auto hit = charsmap_->find(text.substr(pos), Charsmap::Which::kLongest)) {
        // A key never ends inside of a character of valid text.
        if (pos + hit->length == text.size() || !is_utf8_continuation(text[pos + hit->length])) {
          return {hit->length, hit->replacement};
        }
      }
    }
    const size_t length = utf8_length(text[pos]);
    return {length, text.substr(pos, length)};
  }

  std::string_view space() const { return rules_.escape_whitespaces ? kMark : std::string_view(" "); }

  void emit(TextRewriter& out, std::string_view made, size_t origin) const {
    for (size_t at = 0; at < made.size();) {
      const size_t blank = std::min(made.find(' ', at), made.size());
      out.emit(made.substr(at, blank - at), origin);
      if (blank < made.size()) out.emit(space(), origin);
      at = blank + 1;
    }
  }

  SentencePieceRules rules_;
  std::optional<Charsmap> charsmap_;
  PrefixTrie symbols_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_sentencepiece_normalizer(SentencePieceRules rules) {
  std::optional<Charsmap> charsmap;
  if (!rules.charsmap.empty()) {
    SKUA_ASSIGN_OR_RETURN(charsmap, Charsmap::parse(rules.charsmap));
  }
  return std::unique_ptr<Normalizer>(
      std::make_unique<SentencePieceNormalizer>(std::move(rules), std::move(charsmap)));
}

}  // namespace skua::text
