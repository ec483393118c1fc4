// Pieces that several families share. A family wires them; they know no family.
#pragma once

#include <optional>
#include <string>

#include "ir/builder.h"
#include "models/config_reader.h"

namespace skua {

/// One attention layer with separate q, k, v, o projections named as transformers does.
struct AttentionBlock {
  std::string prefix;  // "model.layers.3.self_attn"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t n_heads = 0;
  int32_t n_kv_heads = 0;
  int32_t head_dim = 0;
  bool qkv_bias = false;
  bool o_bias = false;
  std::optional<RmsNorm> qk_norm;  // per head, weights q_norm and k_norm; its `weight` is filled in here
  float scale = 0.0f;              // 0 = 1 / sqrt(head_dim)
  int32_t window = 0;              // 0 = all earlier tokens
  float softcap = 0.0f;
};

/// x [T, d_model] -> [T, d_model]; writes this layer's cache slot, then attends.
ValueId attention_block(GraphBuilder& b, const AttentionBlock& block, ValueId x, ValueId angles);

/// down(act(gate(x)) * up(x)), weights gate_proj, up_proj, down_proj.
struct MlpBlock {
  std::string prefix;  // "model.layers.3.mlp"
  int32_t d_model = 0;
  int32_t d_ff = 0;
  Act act = Act::kSilu;
  bool bias = false;
};
ValueId mlp_block(GraphBuilder& b, const MlpBlock& block, ValueId x);

/// Logits of the rows that are asked for: final norm is applied before. Uses `head` or, when tied, the
/// embedding.
struct HeadBlock {
  int32_t d_model = 0;
  int64_t n_vocab = 0;
  bool tied = false;
  float softcap = 0.0f;
};
ValueId head_block(GraphBuilder& b, const HeadBlock& block, ValueId x);

/// The activation called `name` by transformers, or an error through `config`.
Act read_act(ConfigReader& config, std::string_view key, std::string_view fallback);

/// Weight patterns that a tied model may carry besides.
std::vector<IgnorableTensor> common_ignorable(bool tied);

}  // namespace skua
