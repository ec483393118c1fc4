// Looking up a Charsmap. The trie format is darts-clone's (google/sentencepiece, src/normalizer.cc and
// third_party/darts_clone/darts.h).
#include "text/normalizers/charsmap.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace skua::text {
namespace {

size_t offset_of(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6); }

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view bytes) {
  uint32_t trie_bytes = 0;
  if (bytes.size() >= 4) std::memcpy(&trie_bytes, bytes.data(), 4);
  if (bytes.size() < 8 || trie_bytes < 4 || trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4) {
    return invalid_argument("[normalizer] precompiled_charsmap is cut short or is none");
  }
  Charsmap out;
  out.trie_.resize(trie_bytes / 4);
  std::memcpy(out.trie_.data(), bytes.data() + 4, trie_bytes);
  out.replacements_ = bytes.substr(4 + trie_bytes);
  std::string_view rest = out.replacements_;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    if (!is_valid_utf8(rest.substr(0, end))) {
      return invalid_argument("[normalizer] precompiled_charsmap holds a replacement that is not UTF-8");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::optional<Charsmap::Hit> Charsmap::find(std::string_view text, Which which) const {
  std::optional<Hit> found;
  size_t node = offset_of(trie_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= trie_.size()) break;
    const uint32_t unit = trie_[node];
    if ((unit & 0x800000ffU) != byte) break;
    node ^= offset_of(unit);
    if ((unit >> 8 & 1) == 0) continue;
    if (node >= trie_.size()) break;
    const uint32_t value = trie_[node] & 0x7fffffffU;
    if (value >= replacements_.size()) break;
    // A replacement starts on a character: entries that point inside of one are no entries.
    if (is_utf8_continuation(replacements_[value])) break;
    const size_t end = std::min(replacements_.find('\0', value), replacements_.size());
    found = Hit{i + 1, std::string_view(replacements_).substr(value, end - value)};
    if (which == Which::kShortest) break;
  }
  return found;
}

}  // namespace skua::text
