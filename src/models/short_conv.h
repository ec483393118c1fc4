// What LFM2's families share: gated short convolutions in most layers, attention in the others, and their
// config keys.
#pragma once

#include <string>
#include <vector>

#include "models/families.h"
#include "models/pre_norm_decoder.h"

namespace skua {

/// out_proj(C * conv(B * x)), where in_proj makes B, C and x: convolution over the last `taps` tokens.
struct ShortConvBlock {
  std::string prefix;  // "model.layers.3.conv"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t taps = 0;
  bool bias = false;  // of both projections and the convolution
};

/// x [T, d_model] -> [T, d_model]; keeps the convolution's inputs in a slot of its own.
ValueId short_conv_block(GraphBuilder& b, const ShortConvBlock& block, ValueId x);

/// Reads all keys that LFM2 and LFM2-MoE have in common but the feed-forward's: fills `spec` but for
/// feed_forward and angles. Older checkpoints name some sizes twice; they must agree.
void read_lfm2(ConfigReader& config, PreNormSpec& spec);

/// LFM2's gated MLP; prefix "model.layers.3.feed_forward".
ValueId lfm2_mlp(GraphBuilder& b, const std::string& prefix, int32_t d_model, int32_t d_ff, ValueId x);

/// Tensors of either family in GGUF files.
inline constexpr GgufName kLfm2GgufTensors[] = {{"token_embd_norm", "model.embedding_norm"},
                                                {"attn_norm", "operator_norm"},
                                                {"ffn_norm", "ffn_norm"},
                                                {"attn_output", "self_attn.out_proj"},
                                                {"attn_q_norm", "self_attn.q_layernorm"},
                                                {"attn_k_norm", "self_attn.k_layernorm"},
                                                {"shortconv.conv", "conv.conv"},
                                                {"shortconv.in_proj", "conv.in_proj"},
                                                {"shortconv.out_proj", "conv.out_proj"},
                                                {"ffn_gate", "feed_forward.w1"},
                                                {"ffn_up", "feed_forward.w3"},
                                                {"ffn_down", "feed_forward.w2"},
                                                {"ffn_gate_inp", "feed_forward.gate"},
                                                {"exp_probs_b.bias", "feed_forward.expert_bias"},
                                                {"ffn_gate_exps", "feed_forward.experts.gate_proj"},
                                                {"ffn_up_exps", "feed_forward.experts.up_proj"},
                                                {"ffn_down_exps", "feed_forward.experts.down_proj"}};

}  // namespace skua
