// The pages of one sequence in one cache group, by 64-token stretch. Positions are absolute: a window frees
// the pages behind it and leaves -1 in their place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cache/page_pool.h"

namespace skua {

class PageTable {
 public:
  explicit PageTable(PagePool* pool) : pool_(pool) {}

  /// Page ids by stretch; -1 where nothing is resident.
  std::span<const int32_t> pages() const { return pages_; }

  /// Makes room for positions [0, n_tokens); new pages that lie wholly before `first_needed` are left out
  /// (-1). Errors: kResourceExhausted; nothing is taken then.
  Status extend(int32_t n_tokens, int32_t first_needed = 0);

  /// Pages that extend() would take.
  int32_t n_missing(int32_t n_tokens, int32_t first_needed = 0) const;

  /// Takes a page for a stretch that was left out, if one is free.
  void fill(size_t stretch);

  /// Lets go of the page of one stretch.
  void drop(size_t stretch, uint64_t step);

  /// Lets go of pages that lie wholly before position `first_needed`.
  void drop_before(int32_t first_needed, uint64_t step);

  /// Lets go of pages that lie wholly at or after position `n_tokens`.
  void truncate(int32_t n_tokens, uint64_t step);

  /// Begins with these pages by reference (-1 = not resident). Only on an empty table.
  void adopt(std::span<const int32_t> pages);

  void release_all(uint64_t step) { truncate(0, step); }

 private:
  PagePool* pool_;
  std::vector<int32_t> pages_;
};

}  // namespace skua
