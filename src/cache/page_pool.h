// The pages of one cache group: who holds them, which are free. Pages are shared by reference; a page that is
// let go becomes free only when the last step that named it has completed.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace skua {

class PagePool {
 public:
  explicit PagePool(int32_t n_pages);

  /// A page with one reference, or nothing when none is free.
  std::optional<int32_t> allocate();

  /// One more holder of a held page.
  void retain(int32_t page);

  /// One holder less. `step` is the newest step that may still read or write the page.
  void release(int32_t page, uint64_t step);

  /// Makes pages free whose last step is at or before `completed_step`.
  void reclaim(uint64_t completed_step);

  int32_t n_pages() const { return static_cast<int32_t>(refs_.size()); }
  int32_t n_free() const { return static_cast<int32_t>(free_.size()); }
  int32_t n_refs(int32_t page) const { return refs_[static_cast<size_t>(page)]; }

 private:
  struct Retired {
    int32_t page;
    uint64_t step;
  };
  std::vector<int32_t> refs_;
  std::vector<int32_t> free_;
  std::deque<Retired> retired_;
};

}  // namespace skua
