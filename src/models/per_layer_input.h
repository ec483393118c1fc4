// Per-layer embeddings: a second table gives every layer a small vector per token, mixed with a projection of
// the embedding; each layer adds a gated projection of its vector to the stream.
#pragma once

#include "models/blocks.h"

namespace skua {

struct PerLayerInputs {
  int32_t n_layers = 0;
  int32_t width = 0;    // of one layer's vector
  int64_t n_vocab = 0;  // rows of the second table; ids past it use row 0
  int32_t d_model = 0;
  float eps = 1e-6f;
  Act act = Act::kGeluTanh;
};

/// All layers' vectors, [T, n_layers * width]: (norm(projection(x) / sqrt(d_model)) + table row *
/// sqrt(width)) / sqrt(2). x is the scaled embedding.
ValueId per_layer_vectors(GraphBuilder& b, const PerLayerInputs& inputs, ValueId x);

/// norm(projection(act(gate(x)) * vector of `layer`)): what layer `prefix` adds.
ValueId per_layer_block(GraphBuilder& b, const PerLayerInputs& inputs, const std::string& prefix,
                        int32_t layer, ValueId x, ValueId vectors);

}  // namespace skua
