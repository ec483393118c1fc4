// Random legal orders, for the tests that show that the edges alone carry the meaning of a plan.
#include <algorithm>

#include "plan/plan.h"

namespace skua {

std::vector<uint32_t> random_order(size_t n_steps, std::span<const Edge> edges, uint64_t seed) {
  std::vector<std::vector<uint32_t>> next(n_steps);
  std::vector<uint32_t> n_before(n_steps, 0);
  for (const auto& [first, second] : edges) {
    next[first].push_back(second);
    ++n_before[second];
  }
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < n_steps; ++i) {
    if (n_before[i] == 0) ready.push_back(i);
  }
  std::vector<uint32_t> out;
  uint64_t state = seed;
  while (!ready.empty()) {
    // splitmix64, as published by S. Vigna.
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    const size_t pick = (z ^ (z >> 31)) % ready.size();
    const uint32_t step = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    out.push_back(step);
    for (uint32_t j : next[step]) {
      if (--n_before[j] == 0) ready.push_back(j);
    }
  }
  return out;
}

}  // namespace skua
