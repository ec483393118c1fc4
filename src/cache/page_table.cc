// Growth, trimming and sharing of one sequence's pages.
#include "cache/page_table.h"

#include <string>

#include "base/math.h"
#include "ir/graph.h"

namespace skua {

Status PageTable::extend(int32_t n_tokens) {
  const auto wanted = static_cast<size_t>(ceil_div(n_tokens, kPageTokens));
  if (wanted <= pages_.size()) return ok_status();
  const auto missing = static_cast<int32_t>(wanted - pages_.size());
  if (missing > pool_->n_free()) {
    return resource_exhausted("[cache] " + std::to_string(missing) + " more pages of " +
                              std::to_string(kPageTokens) + " tokens are needed, " +
                              std::to_string(pool_->n_free()) + " of " + std::to_string(pool_->n_pages()) +
                              " are free");
  }
  while (pages_.size() < wanted) pages_.push_back(*pool_->allocate());
  return ok_status();
}

void PageTable::drop_before(int32_t first_needed, uint64_t step) {
  const auto n_behind = static_cast<size_t>(first_needed < 0 ? 0 : first_needed / kPageTokens);
  for (size_t i = 0; i < n_behind && i < pages_.size(); ++i) {
    if (pages_[i] < 0) continue;
    pool_->release(pages_[i], step);
    pages_[i] = -1;
  }
}

void PageTable::truncate(int32_t n_tokens, uint64_t step) {
  const auto kept = static_cast<size_t>(ceil_div(n_tokens, kPageTokens));
  while (pages_.size() > kept) {
    if (pages_.back() >= 0) pool_->release(pages_.back(), step);
    pages_.pop_back();
  }
}

void PageTable::adopt(std::span<const int32_t> pages) {
  SKUA_CHECK(pages_.empty());
  for (int32_t page : pages) {
    if (page >= 0) pool_->retain(page);
    pages_.push_back(page);
  }
}

}  // namespace skua
