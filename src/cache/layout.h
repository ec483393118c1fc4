// Which cache slots share a page table. Slots that keep the same tokens (all, or the same window) form a
// group; a page id of a group names one page in the slab of every slot of the group.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace skua {

struct CacheGroup {
  SlotKind kind = SlotKind::kFull;
  int32_t window = 0;  // kWindow: tokens kept
};

struct CacheLayout {
  std::vector<CacheGroup> groups;
  std::vector<uint32_t> slot_group;  // by SlotId
};

CacheLayout make_cache_layout(const Graph& graph);

}  // namespace skua
