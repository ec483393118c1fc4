// What the Hunyuan families share: per-head norms on q and k after the rotation, and a "dynamic" rope whose
// alpha is a fixed change of the base. Source: transformers modeling_hunyuan_v1_dense.py and
// modeling_hunyuan_v1_moe.py (5.17).
#pragma once

#include "models/pre_norm_decoder.h"

namespace skua {

/// Biases, norms and the keys of either config that attention depends on.
void read_hunyuan_attention(ConfigReader& config, PreNormSpec& spec);

/// Rope parameters with theta * alpha^(d / (d - 2)) in place of {type: dynamic, alpha}; others as they are.
Json hunyuan_rope(const Json& rope, int32_t head_dim);

}  // namespace skua
