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

/// A full and a recurrent group; sequences whose recurrent pages are let go as they run.
struct Recurrent {
  Recurrent() : pools(2, PagePool(64)), tree(&pools, {{SlotKind::kFull, 0}, {SlotKind::kRecurrent, 0}}) {
    for (PagePool& pool : pools) tables.emplace_back(&pool);
  }
  /// The sequence has run n tokens of ids.
  void run(const std::vector<int32_t>& ids, int32_t n) {
    for (PageTable& table : tables) ASSERT_TRUE(table.extend(n).ok());
    tables[1].drop_before(first_needed({SlotKind::kRecurrent, 0}, n), 0);
    tree.insert(ids, n, tables, 0);
  }
  void end() {
    for (PageTable& table : tables) table.release_all(0);
    for (PagePool& pool : pools) pool.reclaim(0);
  }
  /// Tokens of a hit for the first n of ids, then others.
  int32_t hit(std::vector<int32_t> ids, size_t n) {
    for (size_t i = n; i < ids.size(); ++i) ids[i] += 1000;
    return tree.match(ids, static_cast<int32_t>(ids.size())).n_tokens;
  }
  std::vector<PagePool> pools;
  PrefixTree tree;
  std::vector<PageTable> tables;
};

TEST(PrefixTree, ARecurrentGroupNeedsThePageOfTheNextTokenAndTheOneBefore) {
  Recurrent r;
  const auto ids = iota(400);
  for (PageTable& table : r.tables) ASSERT_TRUE(table.extend(200).ok());
  r.tables[1].drop_before(128, 0);  // pages 2 and 3 are left
  r.tree.insert(ids, 200, r.tables, 0);
  EXPECT_EQ(r.hit(ids, 300), 200);
  EXPECT_EQ(r.hit(ids, 195), 195);  // page 3 goes on from the end of page 2
  EXPECT_EQ(r.hit(ids, 192), 192);  // page 2 is complete
  EXPECT_EQ(r.hit(ids, 191), 0);    // page 2 goes on from page 1
  EXPECT_EQ(r.tree.match(iota(191), 191).n_known, 191);
  const PrefixMatch match = r.tree.match(ids, 400);
  EXPECT_EQ(match.shared[1], (std::vector<int32_t>{-1, -1, r.tables[1].pages()[2]}));
  r.end();
}

TEST(PrefixTree, ASnapshotOutlivesItsSequenceAndServesNoTokenThatItsPageMayLack) {
  Recurrent r;
  const auto ids = iota(600);
  r.run(ids, 100);  // the prompt's end
  r.run(ids, 300);
  r.run(ids, 500);
  r.end();
  EXPECT_EQ(r.hit(ids, 600), 500);
  EXPECT_EQ(r.hit(ids, 300), 300);
  EXPECT_EQ(r.hit(ids, 270), 270);
  EXPECT_EQ(r.hit(ids, 100), 100);
  EXPECT_EQ(r.hit(ids, 120), 100);  // the page may lack tokens 100 to 119
  EXPECT_EQ(r.hit(ids, 180), 100);
}

TEST(PrefixTree, GivesUpSnapshotsOneByOneAndKeepsTheirNodes) {
  Recurrent r;
  const auto ids = iota(300);
  r.run(ids, 100);
  r.run(ids, 300);
  r.end();
  const size_t n_nodes = r.tree.n_nodes();
  const int32_t n_free = r.pools[1].n_free();
  ASSERT_TRUE(r.tree.evict_page(1, 0));
  r.pools[1].reclaim(0);
  EXPECT_EQ(r.pools[1].n_free(), n_free + 1);
  EXPECT_EQ(r.tree.n_nodes(), n_nodes);
  while (r.tree.evict_page(1, 0)) {
  }
  r.pools[1].reclaim(0);
  EXPECT_EQ(r.pools[1].n_free(), 64);
  EXPECT_EQ(r.hit(ids, 300), 0);
  EXPECT_EQ(r.pools[0].n_free(), 64 - 5);
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
