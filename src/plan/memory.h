// Places intermediates of one plan in one arena. Two ranges share bytes only if no step needs both.
#pragma once

#include <cstdint>
#include <vector>

namespace skua {

/// Something that needs `bytes` from step `first` to step `last`, both included.
struct ArenaRequest {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct ArenaPlacement {
  std::vector<uint64_t> offsets;  // by request, multiples of 64
  uint64_t total_bytes = 0;
};

/// Greedy placement, largest first, each at the lowest free offset.
ArenaPlacement place(const std::vector<ArenaRequest>& requests);

}  // namespace skua
