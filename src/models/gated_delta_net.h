// What Qwen3-Next and Qwen3.5 share: gated delta layers, attention whose output is gated, their config keys.
#pragma once

#include <string>

#include "models/pre_norm_decoder.h"

namespace skua {

/// How a gated delta layer's input projections lie.
enum class DeltaProjections : uint8_t {
  kPerKeyHead,  // in_proj_qkvz and in_proj_ba: q, k, v, z (b, a) of the first key head, then of the next
  kInTurn,      // in_proj_qkv: all of q, k, v; in_proj_z, in_proj_b, in_proj_a
};

/// out_proj(norm(delta(conv(q), conv(k), conv(v), a, b)) * silu(z)); the norm is per value head.
struct GatedDeltaBlock {
  std::string prefix;  // "model.layers.3.linear_attn"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t n_k_heads = 0;
  int32_t n_v_heads = 0;
  int32_t k_dim = 0;
  int32_t v_dim = 0;
  int32_t taps = 0;
  float eps = 1e-6f;
  DeltaProjections projections = DeltaProjections::kInTurn;
};

/// x [T, d_model] -> [T, d_model]; has three convolution slots (q, k, v) and one for the scan.
ValueId gated_delta_block(GraphBuilder& b, const GatedDeltaBlock& block, ValueId x);

/// Reads the keys that both families have, and wires layers, norms and attention; leaves feed_forward and
/// angles.
void read_gated_delta(ConfigReader& config, DeltaProjections projections, PreNormSpec& spec);

/// Rope keys with the families' own default for the part of a head that turns.
Json delta_rope_parameters(ConfigReader& config);

}  // namespace skua
