#include <gtest/gtest.h>

#include <random>
#include <set>

#include "plan/plan.h"

namespace skua {
namespace {

Step step(std::vector<Use> uses) {
  Step out;
  out.uses = std::move(uses);
  return out;
}

Use read(uint32_t buffer, uint64_t begin, uint64_t end) {
  return {BufferId(buffer), begin, end, Access::kRead};
}
Use write(uint32_t buffer, uint64_t begin, uint64_t end) {
  return {BufferId(buffer), begin, end, Access::kWrite};
}

TEST(Hazards, OrdersReadAfterWriteWriteAfterReadAndWriteAfterWrite) {
  const std::vector<Step> steps = {step({write(0, 0, 64)}), step({read(0, 0, 64)}), step({write(0, 32, 96)}),
                                   step({write(0, 64, 128)})};
  EXPECT_EQ(derive_edges(steps), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}, {2, 3}}));
}

TEST(Hazards, LeavesDisjointBytesAndTwoReadersAlone) {
  const std::vector<Step> steps = {step({write(0, 0, 64)}), step({write(0, 64, 128)}), step({read(0, 0, 64)}),
                                   step({read(0, 0, 64)}), step({write(1, 0, 64)})};
  EXPECT_EQ(derive_edges(steps), (std::vector<Edge>{{0, 2}, {0, 3}}));
}

std::vector<Step> random_steps(uint64_t seed, size_t n) {
  std::mt19937_64 rng(seed);
  std::vector<Step> steps;
  for (size_t i = 0; i < n; ++i) {
    std::vector<Use> uses;
    for (int u = 0; u < 3; ++u) {
      const auto begin = rng() % 256;
      const Use use = rng() % 3 == 0 ? write(static_cast<uint32_t>(rng() % 2), begin, begin + 1 + rng() % 64)
                                     : read(static_cast<uint32_t>(rng() % 2), begin, begin + 1 + rng() % 64);
      uses.push_back(use);
    }
    steps.push_back(step(std::move(uses)));
  }
  return steps;
}

TEST(Verify, AcceptsWhatDeriveEdgesFinds) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto steps = random_steps(seed, 40);
    const Status status = verify(steps, derive_edges(steps));
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
}

TEST(Verify, CatchesEveryDroppedEdgeThatNoPathReplaces) {
  int caught = 0, implied = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto steps = random_steps(seed, 20);
    const auto edges = derive_edges(steps);
    for (size_t drop = 0; drop < edges.size(); ++drop) {
      auto fewer = edges;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(drop));
      // Is there another path? Looked for without verify's own code.
      std::set<uint32_t> reached{edges[drop].first};
      for (uint32_t i = 0; i < steps.size(); ++i) {
        for (const auto& [a, b] : fewer) {
          if (reached.contains(a)) reached.insert(b);
        }
      }
      const bool still_ordered = reached.contains(edges[drop].second);
      EXPECT_EQ(verify(steps, fewer).ok(), still_ordered) << "seed " << seed << " edge " << drop;
      ++(still_ordered ? implied : caught);
    }
  }
  EXPECT_GT(caught, 100);
  EXPECT_GT(implied, 10);
}

TEST(Verify, RefusesWritesBeforeTheWaitAndBackwardEdges) {
  std::vector<Step> steps = {step({write(0, 0, 64)}), step({write(0, 0, 64)})};
  EXPECT_FALSE(verify(steps, std::vector<Edge>{{1, 0}}).ok());
  steps[1].uses[0].phase = Phase::kBeforeWait;
  EXPECT_FALSE(verify(steps, std::vector<Edge>{{0, 1}}).ok());
}

TEST(RandomOrder, KeepsEveryEdgeAndDiffersBySeed) {
  const auto steps = random_steps(7, 60);
  const auto edges = derive_edges(steps);
  std::set<std::vector<uint32_t>> seen;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto order = random_order(steps.size(), edges, seed);
    ASSERT_EQ(order.size(), steps.size());
    std::vector<size_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (const auto& [a, b] : edges) EXPECT_LT(place[a], place[b]);
    seen.insert(order);
  }
  EXPECT_GT(seen.size(), 20u);
}

}  // namespace
}  // namespace skua
