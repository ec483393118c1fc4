// Multi-head latent attention, absorbed: the one module of every family that has it. The cache holds, per
// token, the normed latent and the rotated shared key; W_UK and W_UV are cut out of kv_b_proj at load and
// stand on the query's and the output's side. The same arithmetic serves decode and prefill, unless the graph
// is built for MlaPrefill::kFast. Source:
// arXiv:2405.04434 (DeepSeek-V2), section 2.1; transformers modeling_deepseek_v2.py (5.17) for names.
#pragma once

#include <string>

#include "ir/builder.h"
#include "models/config_reader.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"

namespace skua {

/// DeepSeek-V3.2's indexer: small heads that choose which earlier tokens the attention sees. Its keys (a
/// layer-normed projection, the first rope_dim elements rotated) lie in a second latent slot of the layer.
struct MlaIndex {
  int32_t top_k = 0;  // 0: no indexer
  int32_t n_heads = 0;
  int32_t head_dim = 0;
  RopeStyle style = RopeStyle::kHalf;
};

/// Sizes and rules of a model's latent attention.
struct MlaSpec {
  int32_t d_model = 0;
  int32_t n_heads = 0;
  int32_t q_rank = 0;  // 0: q_proj straight from the stream
  int32_t kv_rank = 0;
  int32_t nope_dim = 0;
  int32_t rope_dim = 0;
  int32_t v_dim = 0;
  RopeStyle style = RopeStyle::kInterleaved;
  float scale = 0.0f;     // of the scores
  float kv_scale = 1.0f;  // of the normed latent
  bool bias = false;      // on q_a_proj, kv_a_proj_with_mqa, o_proj
  MlaIndex index = {};
};

/// Reads the sizes. `kv_b_proj` never has a bias: one in the checkpoint fails the load as a tensor nobody
/// reads.
MlaSpec read_mla(ConfigReader& config, int32_t d_model, int32_t n_heads);

/// Reads index_topk, index_n_heads, index_head_dim and the rotation's style.
MlaIndex read_mla_index(ConfigReader& config, const MlaSpec& spec);

/// 1/sqrt(nope + rope), times the square of YaRN's temperature at mscale_all_dim where the rope parameters
/// carry it. The rotation's own factor is another number (mscale / mscale_all_dim) and is not part of it.
float mla_scale(const MlaSpec& spec, const Json& rope);

/// x [T, d_model] -> [T, d_model]; writes the layer's latent slot, then attends. prefix:
/// "model.layers.3.self_attn".
ValueId mla_block(GraphBuilder& b, const MlaSpec& spec, const std::string& prefix, int32_t layer, ValueId x,
                  ValueId angles);

/// finish_pre_norm() of a model whose layers all attend this way; fills in the scale.
Result<std::unique_ptr<Model>> finish_mla(const ConfigReader& config, ConfigPolicy policy, PreNormSpec spec,
                                          MlaSpec mla, const Json& rope, double default_theta);

/// The begin of DeepSeek-V3's and V3.2's parse(): sizes, activation, head, the router's kind, latent
/// attention.
MlaSpec read_deepseek_v3(ConfigReader& config, PreNormSpec& spec);

/// The end of a DeepSeek-V3-like parse(): the style of rope, experts behind a sigmoid router, prediction
/// layers left aside, then finish_mla().
Result<std::unique_ptr<Model>> finish_sigmoid_mla(ConfigReader& config, ConfigPolicy policy, PreNormSpec spec,
                                                  MlaSpec mla, const MixtureKeys& keys);

}  // namespace skua
