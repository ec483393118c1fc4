#include "plan/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace skua {
namespace {

TEST(Arena, NeverGivesSharedBytesToValuesThatLiveTogether) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 rng(seed);
    std::vector<ArenaRequest> requests;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<uint32_t>(rng() % 40);
      requests.push_back({rng() % 1000, first, first + static_cast<uint32_t>(rng() % 6)});
    }
    const ArenaPlacement placement = place(requests);
    for (size_t a = 0; a < requests.size(); ++a) {
      EXPECT_EQ(placement.offsets[a] % 64, 0u);
      EXPECT_LE(placement.offsets[a] + requests[a].bytes, placement.total_bytes);
      for (size_t b = a + 1; b < requests.size(); ++b) {
        const bool together = requests[a].first <= requests[b].last && requests[b].first <= requests[a].last;
        const bool overlap = placement.offsets[a] < placement.offsets[b] + requests[b].bytes &&
                             placement.offsets[b] < placement.offsets[a] + requests[a].bytes;
        EXPECT_FALSE(together && overlap) << "seed " << seed << ": " << a << " and " << b;
      }
    }
  }
}

TEST(Arena, ReusesBytesOfDeadValues) {
  const ArenaPlacement placement = place({{64, 0, 1}, {64, 2, 3}, {64, 1, 2}});
  EXPECT_EQ(placement.total_bytes, 128u);
}

}  // namespace
}  // namespace skua
