// Sequences against pools and prefixes.
#include "cache/cache_manager.h"

#include <algorithm>

#include "base/check.h"
#include "base/math.h"

namespace skua {
namespace {

std::vector<PagePool> make_pools(const std::vector<int32_t>& n_pages) {
  std::vector<PagePool> out;
  for (int32_t n : n_pages) out.emplace_back(n);
  return out;
}

/// The last page border at or before `n_tokens` at which every group still has the pages that the next token
/// needs.
int32_t last_usable_border(const CacheLayout& layout, std::span<const PageTable> tables, int32_t n_tokens) {
  const auto usable = [&](int32_t border) {
    for (size_t group = 0; group < tables.size(); ++group) {
      const int32_t first = first_needed(layout.groups[group], border) / kPageTokens;
      const auto needed = tables[group].pages().first(static_cast<size_t>(border / kPageTokens));
      for (int32_t page : needed.subspan(static_cast<size_t>(first))) {
        if (page < 0) return false;
      }
    }
    return true;
  };
  while (n_tokens > 0 && !usable(n_tokens)) n_tokens -= kPageTokens;
  return n_tokens;
}

}  // namespace

CacheManager::CacheManager(CacheLayout layout, const std::vector<int32_t>& n_pages)
    : layout_(std::move(layout)), pools_(make_pools(n_pages)), prefixes_(&pools_, layout_.groups) {
  SKUA_CHECK_EQ(n_pages.size(), layout_.groups.size());
}

std::vector<PageTable> CacheManager::new_tables() {
  std::vector<PageTable> out;
  for (PagePool& pool : pools_) out.emplace_back(&pool);
  return out;
}

CachedStart CacheManager::start(std::span<const int32_t> ids, int32_t max_tokens, std::span<PageTable> tables,
                                uint64_t completed_step) {
  CachedStart out;
  const PrefixMatch match = prefixes_.match(ids, max_tokens);
  out.n_known = match.n_known;
  if (match.n_tokens == 0) return out;
  for (size_t group = 0; group < tables.size(); ++group) tables[group].adopt(match.shared[group]);
  const auto n_full = static_cast<int32_t>(match.shared[0].size()) * kPageTokens;
  out.n_tokens = n_full;
  if (match.tail.empty()) return out;
  // The tail pages are held while room is made, so that they cannot be the ones that give way.
  for (size_t group = 0; group < tables.size(); ++group) pools_[group].retain(match.tail[group]);
  const bool room = extend(tables, match.n_tokens, completed_step).ok();
  for (uint32_t group = 0; room && group < tables.size(); ++group) {
    out.copies.push_back({group, match.tail[group], tables[group].pages().back()});
  }
  for (size_t group = 0; group < tables.size(); ++group)
    pools_[group].release(match.tail[group], completed_step);
  if (room)
    out.n_tokens = match.n_tokens;
  else {
    // What the next token sees at the end of the copy need not be what it sees at the page border.
    out.n_tokens = last_usable_border(layout_, tables, n_full);
    for (PageTable& table : tables) table.truncate(out.n_tokens, completed_step);
  }
  return out;
}

bool CacheManager::can_hold(int32_t n_tokens) const {
  for (uint32_t group = 0; group < pools_.size(); ++group) {
    const int32_t n_wanted = pages_in_use(layout_.groups[group], n_tokens);
    if (pools_[group].n_free() + prefixes_.n_evictable(group) < n_wanted) return false;
  }
  return true;
}

void CacheManager::reclaim_all(uint64_t completed_step) {
  for (PagePool& pool : pools_) pool.reclaim(completed_step);
}

Status CacheManager::extend(std::span<PageTable> tables, int32_t n_tokens, uint64_t completed_step,
                            std::span<const int32_t> marks) {
  // Pages of sequences that have ended since the last step are free by now.
  reclaim_all(completed_step);
  std::vector<size_t> first_new;
  for (uint32_t group = 0; group < tables.size(); ++group) {
    first_new.push_back(tables[group].pages().size());
    const bool sparse = is_sparse(layout_.groups[group]);
    const int32_t first =
        sparse ? first_needed(layout_.groups[group], std::max(0, n_tokens - kMostRefused)) : 0;
    while (pools_[group].n_free() < tables[group].n_missing(n_tokens, first) &&
           ((sparse && prefixes_.evict_page(group, completed_step)) || prefixes_.evict_one(completed_step))) {
      reclaim_all(completed_step);
    }
    SKUA_RETURN_IF_ERROR(tables[group].extend(n_tokens, first));
  }
  for (uint32_t group = 0; group < tables.size(); ++group) {
    if (is_sparse(layout_.groups[group]))
      fill_marks(tables[group], group, first_new[group], n_tokens, marks, completed_step);
  }
  return ok_status();
}

void CacheManager::fill_marks(PageTable& table, uint32_t group, size_t first_new, int32_t n_tokens,
                              std::span<const int32_t> marks, uint64_t completed_step) {
  for (const int32_t mark : marks) {
    if (mark > n_tokens) return;
    const auto first =
        static_cast<size_t>(first_needed(layout_.groups[group], mark)) / static_cast<size_t>(kPageTokens);
    for (size_t stretch = std::max(first, first_new); stretch * kPageTokens < static_cast<size_t>(mark);
         ++stretch) {
      if (table.pages()[stretch] >= 0) continue;
      if (pools_[group].n_free() == 0 && prefixes_.evict_page(group, completed_step))
        pools_[group].reclaim(completed_step);
      table.fill(stretch);
    }
  }
}

std::vector<int32_t> CacheManager::snapshot_marks(const CachedStart& start, int32_t n_tokens) const {
  constexpr int32_t kEvery = 4096;
  std::vector<int32_t> out;
  if (std::none_of(layout_.groups.begin(), layout_.groups.end(), is_sparse)) return out;
  for (int64_t mark = int64_t{start.n_tokens / kEvery + 1} * kEvery; mark < n_tokens; mark += kEvery)
    out.push_back(static_cast<int32_t>(mark));
  const bool worth_it = start.n_known >= start.n_tokens + kPageTokens && start.n_known < n_tokens;
  if (worth_it) out.insert(std::lower_bound(out.begin(), out.end(), start.n_known), start.n_known);
  return out;
}

void CacheManager::drop_windows(std::span<PageTable> tables, int32_t n_cached, uint64_t step) {
  for (size_t group = 0; group < tables.size(); ++group) {
    tables[group].drop_before(first_needed(layout_.groups[group], n_cached), step);
  }
}

void CacheManager::finish(std::span<const int32_t> ids, int32_t n_cached, std::span<PageTable> tables,
                          uint64_t step) {
  if (tables.empty()) return;
  if (n_cached > 0) prefixes_.insert(ids, n_cached, tables, step);
  for (PageTable& table : tables) table.release_all(step);
}

}  // namespace skua
