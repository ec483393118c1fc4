// What a token costs in a latent cache, beside what the keys and values of all heads would.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace skua {

/// Sizes of one layer of latent attention.
struct LatentSizes {
  int64_t n_layers = 0;  // how many layers are like this one
  int64_t n_heads = 0;
  int64_t rank = 0, rope = 0;  // the row that is stored: the latent and the rotated key
  int64_t nope = 0, v = 0;     // of a head's decompressed key (besides `rope`) and value
  int64_t index = 0;           // a sparse indexer's key, stored besides; 0 = none

  /// Bytes of one token in one layer.
  uint64_t latent_bytes(uint64_t element_bytes) const {
    return static_cast<uint64_t>(rank + rope) * element_bytes;
  }
  uint64_t index_bytes(uint64_t element_bytes) const { return static_cast<uint64_t>(index) * element_bytes; }
  uint64_t decompressed_bytes(uint64_t element_bytes) const {
    return static_cast<uint64_t>(n_heads * (nope + rope + v)) * element_bytes;
  }
};

/// The sizes of a graph's latent attention, as its first such layer has them; nothing for other models.
std::optional<LatentSizes> latent_sizes(const Graph& graph);

}  // namespace skua
