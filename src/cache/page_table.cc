// Growth, trimming and sharing of one sequence's pages.
#include "cache/page_table.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/math.h"
#include "ir/graph.h"

namespace skua {

int32_t PageTable::n_missing(int32_t n_tokens, int32_t first_needed) const {
  const int32_t wanted = ceil_div(n_tokens, kPageTokens);
  return std::max(0, wanted - std::max(static_cast<int32_t>(pages_.size()), first_needed / kPageTokens));
}

Status PageTable::extend(int32_t n_tokens, int32_t first_needed) {
  const auto wanted = static_cast<size_t>(ceil_div(n_tokens, kPageTokens));
  const int32_t missing = n_missing(n_tokens, first_needed);
  if (missing > pool_->n_free()) {
    return resource_exhausted("[cache] " + std::to_string(missing) + " more pages of " +
                              std::to_string(kPageTokens) + " tokens are needed, " +
                              std::to_string(pool_->n_free()) + " of " + std::to_string(pool_->n_pages()) +
                              " are free");
  }
  const auto first = static_cast<size_t>(first_needed / kPageTokens);
  while (pages_.size() < wanted) pages_.push_back(pages_.size() < first ? -1 : *pool_->allocate());
  return ok_status();
}

void PageTable::fill(size_t stretch) {
  if (pages_[stretch] >= 0 || pool_->n_free() == 0) return;
  pages_[stretch] = *pool_->allocate();
}

void PageTable::drop(size_t stretch, uint64_t step) {
  if (pages_[stretch] < 0) return;
  pool_->release(pages_[stretch], step);
  pages_[stretch] = -1;
}

void PageTable::drop_before(int32_t first_needed, uint64_t step) {
  const auto n_behind = static_cast<size_t>(first_needed < 0 ? 0 : first_needed / kPageTokens);
  for (size_t i = 0; i < n_behind && i < pages_.size(); ++i) drop(i, step);
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
