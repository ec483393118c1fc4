// Which cache slots share a page table. Slots that keep the same tokens (all, or the same window) form a
// group; a page id of a group names one page in the slab of every slot of the group.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace skua {

struct CacheGroup {
  SlotKind kind = SlotKind::kFull;
  int32_t window = 0;  // kWindow, kConv: tokens kept
};

struct CacheLayout {
  std::vector<CacheGroup> groups;
  std::vector<uint32_t> slot_group;  // by SlotId
};

CacheLayout make_cache_layout(const Graph& graph);

/// First position that a sequence of n_tokens cached tokens still needs in a group: a window's keys; of a
/// recurrent group the page before the next token's.
int32_t first_needed(const CacheGroup& group, int32_t n_tokens);

/// Tokens, at most, that a group keeps behind the next one.
int32_t kept_tokens(const CacheGroup& group);

/// Pages that one sequence of up to `context` tokens needs in a group, when a step runs up to `step_tokens`.
int32_t pages_per_sequence(const CacheGroup& group, int32_t context, int32_t step_tokens);

}  // namespace skua
