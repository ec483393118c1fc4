// Free list, reference counts and the queue of pages that a running step may still touch.
#include "cache/page_pool.h"

#include "base/check.h"

namespace skua {

PagePool::PagePool(int32_t n_pages) : refs_(static_cast<size_t>(n_pages), 0) {
  for (int32_t page = n_pages; page-- > 0;) free_.push_back(page);
}

std::optional<int32_t> PagePool::allocate() {
  if (free_.empty()) return std::nullopt;
  const int32_t page = free_.back();
  free_.pop_back();
  SKUA_CHECK_EQ(n_refs(page), 0);
  refs_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::retain(int32_t page) {
  SKUA_CHECK_LT(0, n_refs(page));
  ++refs_[static_cast<size_t>(page)];
}

void PagePool::release(int32_t page, uint64_t step) {
  SKUA_CHECK_LT(0, n_refs(page));
  if (--refs_[static_cast<size_t>(page)] == 0) retired_.push_back({page, step});
}

void PagePool::reclaim(uint64_t completed_step) {
  while (!retired_.empty() && retired_.front().step <= completed_step) {
    free_.push_back(retired_.front().page);
    retired_.pop_front();
  }
}

}  // namespace skua
