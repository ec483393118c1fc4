#include "cache/cache_manager.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

std::vector<int32_t> iota(int32_t n) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

/// What a second sequence starts with when a first one of 100 tokens has ended and every other page is in
/// use.
int32_t start_without_room(const std::vector<CacheGroup>& groups) {
  constexpr int32_t kPages = 5;
  std::vector<int32_t> n_pages(groups.size(), kPages);
  CacheManager cache({groups, {}}, n_pages);
  const auto ids = iota(100);
  std::vector<PageTable> first = cache.new_tables();
  EXPECT_TRUE(cache.extend(first, 100, 0).ok());
  cache.drop_windows(first, 100, 0);
  cache.finish(ids, 100, first, 0);
  for (PagePool& pool : cache.pools()) pool.reclaim(0);
  // Others hold what is free, and the pages of the prefix as well: none can give way.
  std::vector<PageTable> others = cache.new_tables();
  const PrefixMatch held = cache.prefixes().match(ids, 100);
  for (size_t group = 0; group < groups.size(); ++group) {
    std::vector<int32_t> pages = held.shared[group];
    pages.push_back(held.tail[group]);
    others[group].adopt(pages);
    while (cache.pools()[group].allocate()) {
    }
  }
  std::vector<PageTable> second = cache.new_tables();
  const CachedStart start = cache.start(ids, 99, second, 0);
  EXPECT_TRUE(start.copies.empty());
  for (size_t group = 0; group < groups.size(); ++group) {
    const auto pages = second[group].pages();
    EXPECT_EQ(static_cast<int32_t>(pages.size()) * kPageTokens, start.n_tokens);
    const int32_t needed = first_needed(groups[group], start.n_tokens) / kPageTokens;
    for (size_t i = static_cast<size_t>(needed); i < pages.size(); ++i) EXPECT_GE(pages[i], 0) << group;
  }
  for (PageTable& table : second) table.release_all(0);
  for (PageTable& table : others) table.release_all(0);
  return start.n_tokens;
}

TEST(CacheManager, WithoutRoomForTheCopiedPageAHitEndsAtThePageBorder) {
  EXPECT_EQ(start_without_room({{SlotKind::kFull, 0}}), 64);
  EXPECT_EQ(start_without_room({{SlotKind::kFull, 0}, {SlotKind::kRecurrent, 0}}), 64);
}

// Of 100 tokens these keep rows 97 to 99 and 69 to 99: a query at 64 would see rows that are gone.
TEST(CacheManager, WithoutRoomForTheCopiedPageNothingIsHitThatAWindowHasLetGo) {
  EXPECT_EQ(start_without_room({{SlotKind::kFull, 0}, {SlotKind::kConv, 4}}), 0);
  EXPECT_EQ(start_without_room({{SlotKind::kFull, 0}, {SlotKind::kWindow, 32}}), 0);
}

}  // namespace
}  // namespace skua
