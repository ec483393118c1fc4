#include "cache/page_table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skua
