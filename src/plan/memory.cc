// Arena placement: largest first, lowest gap that is free over the whole lifetime.
#include "plan/memory.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"

namespace skua {

ArenaPlacement place(const std::vector<ArenaRequest>& requests) {
  constexpr uint64_t kAlign = 64;
  ArenaPlacement out;
  out.offsets.assign(requests.size(), 0);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : order) {
    const ArenaRequest& want = requests[i];
    if (want.bytes == 0) continue;
    uint64_t offset = 0;
    for (size_t j : placed) {
      const ArenaRequest& other = requests[j];
      const bool together = want.first <= other.last && other.first <= want.last;
      if (!together) continue;
      if (offset + want.bytes <= out.offsets[j]) break;
      offset = std::max(offset, round_up(out.offsets[j] + other.bytes, kAlign));
    }
    out.offsets[i] = offset;
    out.total_bytes = std::max(out.total_bytes, round_up(offset + want.bytes, kAlign));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](uint64_t o, size_t j) { return o < out.offsets[j]; }),
                  i);
  }
  return out;
}

}  // namespace skua
