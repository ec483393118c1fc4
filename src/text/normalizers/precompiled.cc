// SentencePiece's precompiled character map: a double-array trie from byte strings to replacements.
// Source: HF tokenizers 0.23, normalizers/precompiled.rs; the trie format is darts-clone's
// (google/sentencepiece, src/normalizer.cc and third_party/darts_clone/darts.h).
#include <cstring>

#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

constexpr size_t kMaxGraphemeBytes = 6;  // longer clusters are only looked at character by character

class Precompiled : public Normalizer {
 public:
  Precompiled(std::vector<uint32_t> trie, std::string replacements)
      : trie_(std::move(trie)), replacements_(std::move(replacements)) {}

  Status normalize(AlignedText& text) const override {
    const std::string_view old = text.text();
    std::vector<CharChange> changes;
    bool changed = false;
    for (size_t pos = 0; pos < old.size();) {
      const size_t length = grapheme_length(old, pos);
      const std::string_view cluster = old.substr(pos, length);
      pos += length;
      const char* found = length < kMaxGraphemeBytes ? lookup(cluster) : nullptr;
      if (found != nullptr) {
        replace(changes, cluster, found);
        changed = true;
        continue;
      }
      for (size_t at = 0; at < cluster.size();) {
        const size_t begin = at;
        const char32_t c = next_char(cluster, at);
        const std::string_view part = cluster.substr(begin, at - begin);
        found = lookup(part);
        if (found == nullptr) {
          changes.push_back({c, 0});
        } else {
          replace(changes, part, found);
          changed = true;
        }
      }
    }
    if (changed) apply_changes(text, changes);
    return ok_status();
  }

 private:
  // The replacement of the shortest entry that `key` starts with; null when there is none.
  const char* lookup(std::string_view key) const {
    size_t node = 0;
    uint32_t unit = trie_[0];
    node ^= offset_of(unit);
    for (const char c : key) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte == 0) break;
      node ^= byte;
      if (node >= trie_.size()) return nullptr;
      unit = trie_[node];
      if ((unit & 0x800000ffU) != byte) return nullptr;
      node ^= offset_of(unit);
      if ((unit >> 8 & 1) == 0) continue;
      if (node >= trie_.size()) return nullptr;
      const uint32_t value = trie_[node] & 0x7fffffffU;
      // The replacements end with a NUL, so every string in them does.
      return value < replacements_.size() ? replacements_.c_str() + value : nullptr;
    }
    return nullptr;
  }

  static size_t offset_of(uint32_t unit) {
    return static_cast<size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6);
  }

  static void replace(std::vector<CharChange>& changes, std::string_view from, const char* to) {
    const std::u32string made = to_utf32(to);
    const auto difference = static_cast<ptrdiff_t>(made.size()) - static_cast<ptrdiff_t>(count_chars(from));
    for (size_t i = 0; i < made.size(); ++i) {
      const bool extra = difference > 0 && i >= made.size() - static_cast<size_t>(difference);
      changes.push_back({made[i], extra ? 1 : 0});
    }
    if (difference < 0 && !changes.empty()) changes.back().change += static_cast<int>(difference);
  }

  std::vector<uint32_t> trie_;
  std::string replacements_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_precompiled(std::string charsmap) {
  uint32_t trie_bytes = 0;
  if (charsmap.size() >= 4) std::memcpy(&trie_bytes, charsmap.data(), 4);
  if (charsmap.size() < 8 || trie_bytes < 4 || trie_bytes % 4 != 0 || trie_bytes > charsmap.size() - 4) {
    return invalid_argument("[normalizer] precompiled_charsmap is cut short or is none");
  }
  std::vector<uint32_t> trie(trie_bytes / 4);
  std::memcpy(trie.data(), charsmap.data() + 4, trie_bytes);
  std::string replacements = charsmap.substr(4 + trie_bytes);
  std::string_view rest = replacements;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    if (!is_valid_utf8(rest.substr(0, end))) {
      return invalid_argument("[normalizer] precompiled_charsmap holds a replacement that is not UTF-8");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::unique_ptr<Normalizer>(std::make_unique<Precompiled>(std::move(trie), std::move(replacements)));
}

}  // namespace skua::text
