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

int32_t pages_per_sequence(const CacheGroup& group, int32_t context, int32_t step_tokens) {
  const int32_t all = ceil_div(context, kPageTokens);
  if (group.kind != SlotKind::kWindow) return all;
  // A window needs the tokens it keeps, those of one step, and a page cut at either end.
  const int64_t needed = ceil_div<int64_t>(int64_t{group.window} + step_tokens, kPageTokens) + 1;
  return static_cast<int32_t>(std::min<int64_t>(all, needed));
}

}  // namespace skua
