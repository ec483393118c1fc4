// Pages for sequences: the pools of every group, the tree of cached prefixes, and the rule that a cached
// prefix gives way to a running sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/layout.h"
#include "cache/page_table.h"
#include "cache/prefix_tree.h"

namespace skua {

/// A page whose bytes must be copied (in every slot of the group) before the next step runs.
struct PageCopy {
  uint32_t group = 0;
  int32_t from = 0;
  int32_t to = 0;
};

/// What a new sequence starts with.
struct CachedStart {
  int32_t n_tokens = 0;  // its first tokens that need not run
  int32_t n_known = 0;   // first tokens that cached sequences begin with too, though their state is not kept
  std::vector<PageCopy>
      copies;  // of the last, partly shared page; to be made before the cache is touched again
};

class CacheManager {
 public:
  /// `n_pages` by group.
  CacheManager(CacheLayout layout, const std::vector<int32_t>& n_pages);
  CacheManager(const CacheManager&) = delete;
  CacheManager& operator=(const CacheManager&) = delete;

  const CacheLayout& layout() const { return layout_; }
  std::vector<PagePool>& pools() { return pools_; }
  PrefixTree& prefixes() { return prefixes_; }

  /// Empty tables of a new sequence, by group.
  std::vector<PageTable> new_tables();

  /// Gives empty tables the longest cached prefix of `ids`, at most `max_tokens` long. Without room for the
  /// copied page the hit ends at a page border.
  CachedStart start(std::span<const int32_t> ids, int32_t max_tokens, std::span<PageTable> tables,
                    uint64_t completed_step);

  /// True if pages for `n_tokens` more tokens are free, or held by nobody but the cached prefixes.
  bool can_hold(int32_t n_tokens) const;

  /// Makes room for positions [0, n_tokens) in every table; cached prefixes go first. Sparse groups get the
  /// pages at the end, and those that snapshots at `marks` (token counts) need while pages are free. Error:
  /// kResourceExhausted; what was taken stays in the tables.
  Status extend(std::span<PageTable> tables, int32_t n_tokens, uint64_t completed_step,
                std::span<const int32_t> marks = {});

  /// Where a new sequence of `n_tokens` known tokens should leave snapshots (ascending): every 4096 tokens,
  /// and where it parts from cached ones. Empty without sparse groups: others keep all pages anyway.
  std::vector<int32_t> snapshot_marks(const CachedStart& start, int32_t n_tokens) const;

  /// Lets go of pages that no later token needs (first_needed); `n_cached` is the position of the next one.
  void drop_windows(std::span<PageTable> tables, int32_t n_cached, uint64_t step);

  /// Ends a sequence: remembers its first `n_cached` ids as a prefix and lets its pages go.
  void finish(std::span<const int32_t> ids, int32_t n_cached, std::span<PageTable> tables, uint64_t step);

 private:
  void reclaim_all(uint64_t completed_step);
  void fill_marks(PageTable& table, uint32_t group, size_t first_new, int32_t n_tokens,
                  std::span<const int32_t> marks, uint64_t completed_step);

  CacheLayout layout_;
  std::vector<PagePool> pools_;
  PrefixTree prefixes_;
};

}  // namespace skua
