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
    const int64_t most = int64_t{kept_tokens(layout_.groups[group])} + kPageTokens;
    const auto n_wanted = static_cast<int32_t>(std::min<int64_t>(n_tokens, most));
    if (pools_[group].n_free() + prefixes_.n_evictable(group) < ceil_div(n_wanted, kPageTokens)) return false;
  }
  return true;
}

Status CacheManager::extend(std::span<PageTable> tables, int32_t n_tokens, uint64_t completed_step) {
  // Pages of sequences that have ended since the last step are free by now.
  for (PagePool& pool : pools_) pool.reclaim(completed_step);
  for (size_t group = 0; group < tables.size(); ++group) {
    const int32_t wanted =
        ceil_div(n_tokens, kPageTokens) - static_cast<int32_t>(tables[group].pages().size());
    while (pools_[group].n_free() < wanted && prefixes_.evict_one(completed_step)) {
      for (PagePool& pool : pools_) pool.reclaim(completed_step);
    }
    SKUA_RETURN_IF_ERROR(tables[group].extend(n_tokens));
  }
  return ok_status();
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
