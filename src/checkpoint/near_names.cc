// Edit distance over names, for "did you mean".
#include "checkpoint/near_names.h"

#include <algorithm>
#include <numeric>

namespace skua {
namespace {

constexpr size_t kMaxBytes = 256;  // the distance costs the product of both lengths
constexpr size_t kMaxNames = 3;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

/// Insertions, deletions and replacements between two texts.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names) {
  if (wanted.empty() || wanted.size() > kMaxBytes) return {};
  const std::string key = lower(wanted);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxBytes) continue;
    const std::string other = lower(name);
    const bool inside = (key.size() >= 3 && other.find(key) != other.npos) ||
                        (other.size() >= 3 && key.find(other) != key.npos);
    const size_t distance = edit_distance(key, other);
    if (inside || distance <= std::max<size_t>(1, key.size() / 3)) ranked.emplace_back(distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < ranked.size() && i < kMaxNames; ++i) out.push_back(std::move(ranked[i].second));
  return out;
}

}  // namespace skua
