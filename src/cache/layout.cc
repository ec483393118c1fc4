// Groups cache slots by what they keep.
#include "cache/layout.h"

#include <algorithm>

#include "base/math.h"

namespace skua {

CacheLayout make_cache_layout(const Graph& graph) {
  CacheLayout out;
  for (const CacheSlot& slot : graph.slots) {
    uint32_t group = 0;
    while (group < out.groups.size() &&
           (out.groups[group].kind != slot.kind || out.groups[group].window != slot.window)) {
      ++group;
    }
    if (group == out.groups.size()) out.groups.push_back({slot.kind, slot.window});
    out.slot_group.push_back(group);
  }
  return out;
}

int32_t first_needed(const CacheGroup& group, int32_t n_tokens) {
  switch (group.kind) {
    case SlotKind::kWindow:
    case SlotKind::kConv:
      return std::max(0, n_tokens - group.window + 1);
    case SlotKind::kRecurrent:
      return std::max(0, n_tokens / kPageTokens - 1) * kPageTokens;
    case SlotKind::kFull:
    case SlotKind::kLatent:
      break;
  }
  return 0;
}

bool is_sparse(const CacheGroup& group) {
  return group.kind == SlotKind::kConv || group.kind == SlotKind::kRecurrent;
}

int32_t pages_in_use(const CacheGroup& group, int32_t context) {
  const int64_t all = ceil_div(context, kPageTokens);
  int64_t needed = all;
  if (group.kind == SlotKind::kRecurrent) needed = 3;  // the page before, and those of a verify step
  if (group.kind == SlotKind::kConv || group.kind == SlotKind::kWindow)
    needed = ceil_div<int64_t>(int64_t{group.window} + kMostRefused, kPageTokens) + 1;
  return static_cast<int32_t>(std::min(all, needed));
}

int32_t pages_per_sequence(const CacheGroup& group, int32_t context, int32_t step_tokens) {
  const int32_t all = ceil_div(context, kPageTokens);
  // Where the step begins and where it ends.
  if (is_sparse(group)) return std::min(all, 2 * pages_in_use(group, context));
  if (group.kind != SlotKind::kWindow) return all;
  // A window needs the tokens it keeps, those of one step, and a page cut at either end.
  const int64_t needed = ceil_div<int64_t>(int64_t{group.window} + step_tokens, kPageTokens) + 1;
  return static_cast<int32_t>(std::min<int64_t>(all, needed));
}

int32_t pool_pages(const CacheGroup& group, const CacheSizes& sizes) {
  const int32_t per_seq = pages_per_sequence(group, sizes.context, sizes.step_tokens);
  const int32_t budget = sizes.cache_tokens > 0 ? ceil_div(sizes.cache_tokens, kPageTokens) : INT32_MAX;
  int64_t wanted = int64_t{per_seq} * sizes.max_seqs;
  // Pages with states are large: room for all to decode, one step over many tokens, and one snapshot.
  if (is_sparse(group))
    wanted = std::min(wanted, int64_t{pages_in_use(group, sizes.context)} * (sizes.max_seqs + 2));
  return static_cast<int32_t>(std::min<int64_t>({wanted, std::max(per_seq, budget), INT32_MAX}));
}

}  // namespace skua
