#include "cache/page_table.h"

#include <gtest/gtest.h>

#include "cache/cache_manager.h"
#include "cache/layout.h"

namespace skua {
namespace {

TEST(PageTable, TakesPagesByStretchAndNothingWhenThereAreTooFew) {
  PagePool pool(3);
  PageTable table(&pool);
  ASSERT_TRUE(table.extend(1).ok());
  ASSERT_TRUE(table.extend(64).ok());
  EXPECT_EQ(table.pages().size(), 1u);
  ASSERT_TRUE(table.extend(65).ok());
  EXPECT_EQ(pool.n_free(), 1);
  const Status status = table.extend(64 * 4 + 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(table.pages().size(), 2u);
  EXPECT_EQ(pool.n_free(), 1);
}

TEST(PageTable, FreesPagesOnlyAfterTheLastStepThatNamedThem) {
  PagePool pool(2);
  PageTable table(&pool);
  ASSERT_TRUE(table.extend(128).ok());
  table.release_all(/*step=*/5);
  pool.reclaim(4);
  EXPECT_EQ(pool.n_free(), 0);
  pool.reclaim(5);
  EXPECT_EQ(pool.n_free(), 2);
}

TEST(PageTable, WindowDropsOnlyPagesThatLieWhollyBehind) {
  PagePool pool(4);
  PageTable table(&pool);
  ASSERT_TRUE(table.extend(64 * 4).ok());
  table.drop_before(127, 0);
  EXPECT_EQ(table.pages()[0], -1);
  EXPECT_GE(table.pages()[1], 0);
  table.drop_before(128, 0);
  EXPECT_EQ(table.pages()[1], -1);
  EXPECT_GE(table.pages()[2], 0);
  pool.reclaim(0);
  EXPECT_EQ(pool.n_free(), 2);
  ASSERT_TRUE(table.extend(64 * 5).ok());  // positions stay absolute
  EXPECT_EQ(table.pages().size(), 5u);
}

TEST(PageTable, SharedPagesAreFreeWhenTheLastHolderLetsGo) {
  PagePool pool(4);
  PageTable first(&pool), second(&pool);
  ASSERT_TRUE(first.extend(192).ok());
  second.adopt(first.pages().first(2));
  ASSERT_TRUE(second.extend(130).ok());
  EXPECT_EQ(second.pages()[1], first.pages()[1]);
  EXPECT_NE(second.pages()[2], first.pages()[2]);
  first.release_all(1);
  pool.reclaim(1);
  EXPECT_EQ(pool.n_free(), 1);
  second.truncate(64, 2);
  pool.reclaim(2);
  EXPECT_EQ(pool.n_free(), 3);
}

TEST(CacheLayout, SlotsThatKeepTheSameTokensShareATable) {
  Graph graph;
  graph.slots = {{SlotKind::kFull, 0, 2, 8, 8, 0},
                 {SlotKind::kWindow, 1, 2, 8, 8, 16},
                 {SlotKind::kFull, 2, 1, 16, 16, 0},
                 {SlotKind::kWindow, 3, 2, 8, 8, 32}};
  const CacheLayout layout = make_cache_layout(graph);
  EXPECT_EQ(layout.slot_group, (std::vector<uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(layout.groups[2].window, 32);
}

TEST(CacheLayout, AWindowNeedsFewerPagesThanTheContext) {
  const CacheGroup full{SlotKind::kFull, 0}, window{SlotKind::kWindow, 100};
  EXPECT_EQ(pages_per_sequence(full, 1, 512), 1);
  EXPECT_EQ(pages_per_sequence(full, 6400, 512), 100);
  EXPECT_EQ(pages_per_sequence(full, 6401, 512), 101);
  EXPECT_EQ(pages_per_sequence(window, 6400, 28), 3);  // 128 tokens, cut at either end
  EXPECT_EQ(pages_per_sequence(window, 6400, 512), 11);
  EXPECT_EQ(pages_per_sequence(window, 64, 512), 1);  // never more than the context
}

TEST(CacheLayout, ARecurrentGroupNeedsFewPagesWhateverTheContextAndTheStep) {
  const CacheGroup state{SlotKind::kRecurrent, 0}, conv{SlotKind::kConv, 4};
  EXPECT_EQ(first_needed(state, 63), 0);
  EXPECT_EQ(first_needed(state, 128), 64);
  EXPECT_EQ(first_needed(state, 200), 128);
  EXPECT_EQ(first_needed(conv, 128), 125);
  EXPECT_EQ(pages_per_sequence(state, 100000, 4096), 6);
  EXPECT_EQ(pages_per_sequence(conv, 100000, 4096), 4);
  EXPECT_EQ(pool_pages(state, {100000, 512, 32, 0}), 3 * 34);
  EXPECT_EQ(pool_pages(state, {100000, 512, 32, 64}), 6);
  EXPECT_EQ(pool_pages(state, {100, 512, 1, 0}), 2);
}

TEST(CacheManager, ALongStepTakesSparsePagesOnlyAtItsEndAndAtMarks) {
  CacheManager cache({{{SlotKind::kFull, 0}, {SlotKind::kRecurrent, 0}}, {0, 1}}, {64, 6});
  std::vector<PageTable> tables = cache.new_tables();
  const std::vector<int32_t> marks{300};
  ASSERT_TRUE(cache.extend(tables, 600, 0, marks).ok());
  EXPECT_EQ(cache.pools()[0].n_free(), 54);
  std::vector<int> taken;
  for (int i = 0; i < 10; ++i) {
    if (tables[1].pages()[static_cast<size_t>(i)] >= 0) taken.push_back(i);
  }
  EXPECT_EQ(taken, (std::vector<int>{3, 4, 8, 9}));  // 300 is in page 4; 584, the first to come again, in 9
  std::vector<int32_t> ids(700);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  cache.prefixes().insert(ids, 300, tables, 0);
  cache.finish(ids, 600, tables, 0);
  for (int32_t n : {300, 600}) {
    std::vector<int32_t> other = ids;
    for (size_t i = static_cast<size_t>(n); i < other.size(); ++i) other[i] += 1000;
    EXPECT_EQ(cache.prefixes().match(other, 700).n_tokens, n);
  }
  // Snapshots give way to a running sequence, the least recently used first.
  std::vector<PageTable> next = cache.new_tables();
  ASSERT_TRUE(cache.extend(next, 250, 0).ok());
  EXPECT_EQ(cache.prefixes().match(ids, 700).n_tokens, 600);
  for (PageTable& table : next) table.release_all(0);
  EXPECT_EQ(cache.snapshot_marks({100, 500, {}}, 9000), (std::vector<int32_t>{500, 4096, 8192}));
  EXPECT_EQ(cache.snapshot_marks({100, 130, {}}, 4096), (std::vector<int32_t>{}));
}

}  // namespace
}  // namespace skua
