// Groups cache slots by what they keep.
#include "cache/layout.h"

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

}  // namespace skua
