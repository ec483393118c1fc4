#include "cache/prefix_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace skua {
namespace {

std::vector<int32_t> iota(int32_t n, int32_t first = 0) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < n; ++i) out.push_back(first + i);
  return out;
}

/// Pools and a tree; sequences are inserted as if they had run.
struct Fixture {
  explicit Fixture(std::vector<CacheGroup> groups_in = {{SlotKind::kFull, 0}}, int32_t n_pages = 64)
      : groups(std::move(groups_in)), pools(groups.size(), PagePool(n_pages)), tree(&pools, groups) {}

  /// Inserts and lets go of the sequence; returns its pages in group 0.
  std::vector<int32_t> insert(const std::vector<int32_t>& ids, int32_t n_dropped = 0) {
    std::vector<PageTable> tables;
    for (PagePool& pool : pools) tables.emplace_back(&pool);
    for (PageTable& table : tables) EXPECT_TRUE(table.extend(static_cast<int32_t>(ids.size())).ok());
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].kind == SlotKind::kWindow) tables[g].drop_before(n_dropped, 0);
    }
    tree.insert(ids, static_cast<int32_t>(ids.size()), tables, 0);
    const std::vector<int32_t> pages(tables[0].pages().begin(), tables[0].pages().end());
    for (PageTable& table : tables) table.release_all(0);
    for (PagePool& pool : pools) pool.reclaim(0);
    return pages;
  }

  std::vector<CacheGroup> groups;
  std::vector<PagePool> pools;
  PrefixTree tree;
};

TEST(PrefixTree, HitIsExactToTheToken) {
  Fixture f;
  const auto pages = f.insert(iota(150));
  for (int32_t n : {1, 63, 64, 65, 127, 128, 129, 149, 150}) {
    auto ids = iota(n);
    ids.push_back(9999);
    const PrefixMatch match = f.tree.match(ids, n + 1);
    EXPECT_EQ(match.n_tokens, n);
    ASSERT_EQ(match.shared[0].size(), static_cast<size_t>(n / 64));
    for (size_t i = 0; i < match.shared[0].size(); ++i) EXPECT_EQ(match.shared[0][i], pages[i]);
    EXPECT_EQ(match.tail.empty(), n % 64 == 0);
    if (n % 64 != 0) {
      EXPECT_EQ(match.tail[0], pages[static_cast<size_t>(n / 64)]);
    }
  }
  EXPECT_EQ(f.tree.match(iota(150), 149).n_tokens, 149);  // one token is always left to run
  EXPECT_EQ(f.tree.match(iota(10, 500), 10).n_tokens, 0);
}

TEST(PrefixTree, BranchesShareTheirTrunk) {
  Fixture f;
  auto left = iota(200), right = iota(200);
  for (size_t i = 100; i < 200; ++i) right[i] += 1000;
  f.insert(left);
  f.insert(right);
  EXPECT_EQ(f.tree.n_nodes(), 7u);  // one shared page, three more on each side
  EXPECT_EQ(f.tree.match(left, 200).n_tokens, 200);
  EXPECT_EQ(f.tree.match(right, 200).n_tokens, 200);
  EXPECT_EQ(f.pools[0].n_free(), 64 - 7);
}

TEST(PrefixTree, ALongerPageTakesThePlaceOfAPartialOne) {
  Fixture f;
  f.insert(iota(70));
  f.insert(iota(100));
  EXPECT_EQ(f.tree.n_nodes(), 2u);
  EXPECT_EQ(f.pools[0].n_free(), 62);
  f.insert(iota(80));  // says nothing new
  EXPECT_EQ(f.tree.n_nodes(), 2u);
  EXPECT_EQ(f.tree.match(iota(128), 128).n_tokens, 100);
}

TEST(PrefixTree, AWindowMustHoldWhatTheNextQuerySees) {
  Fixture f({{SlotKind::kFull, 0}, {SlotKind::kWindow, 32}});
  f.insert(iota(200), /*n_dropped=*/192);               // the window keeps only the last page, [192, 200)
  EXPECT_EQ(f.tree.match(iota(300), 300).n_tokens, 0);  // a query at 200 sees keys from 169 on
  f.insert(iota(200), /*n_dropped=*/128);
  EXPECT_EQ(f.tree.match(iota(300), 300).n_tokens, 200);
  EXPECT_EQ(f.tree.match(iota(150), 150).n_tokens, 0);  // 119 and on are not all there
}

TEST(PrefixTree, EvictsLeavesLeastRecentlyUsedFirstAndNeverAPageInUse) {
  Fixture f;
  f.insert(iota(128));
  f.insert(iota(128, 1000));
  (void)f.tree.match(iota(128), 128);
  ASSERT_TRUE(f.tree.evict_one(0));
  EXPECT_EQ(f.tree.match(iota(128, 1000), 128).n_tokens, 64);
  EXPECT_EQ(f.tree.match(iota(128), 128).n_tokens, 128);
  PageTable user(&f.pools[0]);
  user.adopt(f.tree.match(iota(128), 128).shared[0]);
  f.tree.clear(0);
  f.pools[0].reclaim(0);
  EXPECT_EQ(f.tree.n_nodes(), 0u);
  EXPECT_EQ(f.pools[0].n_free(), 62);  // the user's two pages stay
  user.release_all(1);
  f.pools[0].reclaim(1);
  EXPECT_EQ(f.pools[0].n_free(), 64);
  EXPECT_FALSE(f.tree.evict_one(0));
}

TEST(PrefixTree, AgreesWithAPlainListOfSequences) {
  std::mt19937 rng(3);
  Fixture f({{SlotKind::kFull, 0}}, 4096);
  std::vector<std::vector<int32_t>> known;
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> ids;
    if (!known.empty() && rng() % 2 == 0) {
      ids = known[rng() % known.size()];
      ids.resize(rng() % (ids.size() + 1));
    }
    const size_t n = ids.size() + 1 + rng() % 150;
    while (ids.size() < n) ids.push_back(static_cast<int32_t>(rng() % 3));
    size_t want = 0;
    for (const auto& other : known) {
      size_t i = 0;
      while (i < std::min(other.size(), ids.size()) && other[i] == ids[i]) ++i;
      want = std::max(want, i);
    }
    EXPECT_EQ(f.tree.match(ids, static_cast<int32_t>(ids.size())).n_tokens, static_cast<int32_t>(want))
        << round;
    f.insert(ids);
    known.push_back(ids);
  }
  f.tree.clear(0);
  f.pools[0].reclaim(0);
  EXPECT_EQ(f.pools[0].n_free(), 4096);
}

}  // namespace
}  // namespace skua
