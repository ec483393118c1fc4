// What Qwen3-Next and Qwen3.5 share: gated delta layers, attention whose output is gated, their config keys.
#pragma once

#include <string>

#include "models/families.h"
#include "models/pre_norm_decoder.h"

namespace skua {

/// How a gated delta layer's input projections lie.
enum class DeltaProjections : uint8_t {
  kPerKeyHead,  // in_proj_qkvz and in_proj_ba: q, k, v, z (b, a) of the first key head, then of the next
  kInTurn,      // in_proj_qkv: all of q, k, v; in_proj_z, in_proj_b, in_proj_a
  kQkvInTurn,   // the same with in_proj_ba per key head
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
  bool tiled = false;  // GatedDelta's
};

/// Key of configs from GGUF files of Qwen3.5: value heads lie in turn over the key heads.
inline constexpr std::string_view kTiledHeadsKey = "skua_tiled_value_heads";

/// What GGUF files of both families hold; ssm_ba is Qwen3-Next's, ssm_alpha and ssm_beta are Qwen3.5's.
inline constexpr GgufName kDeltaGgufTensors[] = {{"post_attention_norm", "post_attention_layernorm"},
                                                 {"attn_qkv", "linear_attn.in_proj_qkv"},
                                                 {"attn_gate", "linear_attn.in_proj_z"},
                                                 {"ssm_ba", "linear_attn.in_proj_ba"},
                                                 {"ssm_alpha", "linear_attn.in_proj_a"},
                                                 {"ssm_beta", "linear_attn.in_proj_b"},
                                                 {"ssm_a", "linear_attn.A_log"},
                                                 {"ssm_conv1d", "linear_attn.conv1d"},
                                                 {"ssm_dt.bias", "linear_attn.dt_bias"},
                                                 {"ssm_norm", "linear_attn.norm"},
                                                 {"ssm_out", "linear_attn.out_proj"},
                                                 {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                                 {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                                 {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                                 {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
inline constexpr GgufName kDeltaGgufKeys[] = {
    {"expert_count", "num_experts"},
    {"rope.dimension_sections", ""},  // of images; with text alone all are one
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"rope.dimension_count", "partial_rotary_factor"},
    {"ssm.conv_kernel", "linear_conv_kernel_dim"},
    {"ssm.state_size", "linear_key_head_dim"},
    {"ssm.group_count", "linear_num_key_heads"},
    {"ssm.time_step_rank", "linear_num_value_heads"},
    {"ssm.inner_size", ""},
    {"full_attention_interval", "full_attention_interval"},
    {"attention.recurrent_layers", ""},
    {"nextn_predict_layers", ""}};
inline constexpr GgufChange kDeltaGgufChanges[] = {{"ssm_a", GgufValues::kLogVector}};

/// Widths of value heads and the layers' types from a GGUF file's keys; its norms hold what the families add.
Status adjust_gated_delta(const Json& metadata, Json& config);

/// x [T, d_model] -> [T, d_model]; has three convolution slots (q, k, v) and one for the scan.
ValueId gated_delta_block(GraphBuilder& b, const GatedDeltaBlock& block, ValueId x);

/// Reads the keys that both families have, and wires layers, norms and attention; leaves feed_forward and
/// angles.
void read_gated_delta(ConfigReader& config, DeltaProjections projections, PreNormSpec& spec);

/// Rope keys with the families' own default for the part of a head that turns.
Json delta_rope_parameters(ConfigReader& config);

}  // namespace skua
