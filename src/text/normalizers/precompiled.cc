// Precompiled: a Charsmap applied to grapheme clusters. Source: HF tokenizers 0.23,
// normalizers/precompiled.rs.
#include "text/normalizers/charsmap.h"
#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

constexpr size_t kMaxGraphemeBytes = 6;  // longer clusters are only looked at character by character

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap charsmap) : charsmap_(std::move(charsmap)) {}

  Status normalize(AlignedText& text) const override {
    const std::string_view old = text.text();
    std::vector<CharChange> changes;
    bool changed = false;
    for (size_t pos = 0; pos < old.size();) {
      const size_t length = grapheme_length(old, pos);
      const std::string_view cluster = old.substr(pos, length);
      pos += length;
      if (length < kMaxGraphemeBytes && replace(changes, cluster)) {
        changed = true;
        continue;
      }
      for (size_t at = 0; at < cluster.size();) {
        const size_t begin = at;
        const char32_t c = next_char(cluster, at);
        if (replace(changes, cluster.substr(begin, at - begin))) {
          changed = true;
        } else {
          changes.push_back({c, 0});
        }
      }
    }
    if (changed) apply_changes(text, changes);
    return ok_status();
  }

 private:
  // Replaces all of `from` by what its shortest beginning maps to; false when it maps to nothing.
  bool replace(std::vector<CharChange>& changes, std::string_view from) const {
    const auto hit = charsmap_.find(from, Charsmap::Which::kShortest);
    if (!hit) return false;
    const std::u32string made = to_utf32(hit->replacement);
    const auto difference = static_cast<ptrdiff_t>(made.size()) - static_cast<ptrdiff_t>(count_chars(from));
    for (size_t i = 0; i < made.size(); ++i) {
      const bool extra = difference > 0 && i >= made.size() - static_cast<size_t>(difference);
      changes.push_back({made[i], extra ? 1 : 0});
    }
    if (difference < 0 && !changes.empty()) changes.back().change += static_cast<int>(difference);
    return true;
  }

  Charsmap charsmap_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_precompiled(std::string_view charsmap) {
  SKUA_ASSIGN_OR_RETURN(Charsmap parsed, Charsmap::parse(charsmap));
  return std::unique_ptr<Normalizer>(std::make_unique<Precompiled>(std::move(parsed)));
}

}  // namespace skua::text
