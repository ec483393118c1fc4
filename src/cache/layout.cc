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

int32_t kept_tokens(const CacheGroup& group) {
  switch (group.kind) {
    case SlotKind::kWindow:
    case SlotKind::kConv:
      return group.window;
    case SlotKind::kRecurrent:
      return 2 * kPageTokens;
    case SlotKind::kFull:
    case SlotKind::kLatent:
      break;
  }
  return INT32_MAX;
}

int32_t pages_per_sequence(const CacheGroup& group, int32_t context, int32_t step_tokens) {
  const int32_t all = ceil_div(context, kPageTokens);
  // The tokens it keeps, those of one step, and a page cut at either end.
  const int64_t needed = ceil_div<int64_t>(int64_t{kept_tokens(group)} + step_tokens, kPageTokens) + 1;
  return static_cast<int32_t>(std::min<int64_t>(all, needed));
}

}  // namespace skua
