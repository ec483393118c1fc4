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

/// True for groups whose ops read nothing of a step's own tokens from pages (conv, recurrent): a step over
/// many tokens needs pages only where it ends, and leaves out those between.
bool is_sparse(const CacheGroup& group);

constexpr int32_t kMostRefused = 16;  // tokens of a step that may be forgotten after it: a verify step's rows

/// Pages that a decoding sequence of up to `context` tokens holds in a group at most.
int32_t pages_in_use(const CacheGroup& group, int32_t context);

/// Pages that one sequence of up to `context` tokens needs in a group, when a step runs up to `step_tokens`.
int32_t pages_per_sequence(const CacheGroup& group, int32_t context, int32_t step_tokens);

/// What a cache is made for; cache_tokens bounds the pages of all sequences together (0 = no bound).
struct CacheSizes {
  int32_t context = 0;
  int32_t step_tokens = 0;
  int32_t max_seqs = 1;
  int32_t cache_tokens = 0;
};

/// Pages of a group's pool: at least what one sequence needs.
int32_t pool_pages(const CacheGroup& group, const CacheSizes& sizes);

}  // namespace skua
