// AFMoE (Arcee Trinity): norms around each block, attention gated by its input, full layers do not rotate,
// sigmoid-routed experts beside shared ones. Sources: transformers modeling_afmoe.py and
// configuration_afmoe.py (5.17); for keys of older configs mlx-lm models/afmoe.py (0.32).
#include <cmath>

#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 128});
  config.require({"num_dense_layers", "num_shared_experts"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  spec.norms = {"input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm"};
  if (config.flag_or("mup_enabled", false))
    spec.embed_scale = static_cast<float>(std::sqrt(static_cast<double>(info.d_model)));
  const int32_t period = config.count_or("global_attn_every_n_layers", 4);
  read_windows(config, spec.config, config.count_or("sliding_window", 1024),
               [&](int32_t layer) { return (layer + 1) % period != 0; });
  spec.adjust_attention = [](AttentionBlock& block) {
    block.gate_name = "gate_proj";
    if (block.window == 0) block.rotation = Rotation::kNone;
  };
  DeepSeekMoe moe = read_deepseek_moe(config, info, spec.act,
                                      {.n_experts = "num_experts",
                                       .n_shared = "num_shared_experts",
                                       .n_dense = "num_dense_layers",
                                       .scale = "route_scale"});
  moe.block.router.score = RouterScore::kSigmoid;
  moe.block.router.normalize = MoeRouter::Normalize::kYes;
  moe.block.router.sum_eps = 1e-20f;
  moe.block.names.router = "router.gate";
  moe.block.names.selection_bias = "expert_bias";
  config.must_be("score_func", Json("sigmoid"));
  config.must_be("route_norm", Json(true));
  for (const char* key : {"n_group", "topk_group", "num_expert_groups", "num_limited_groups"})
    config.must_be(key, Json(1));
  config.ignore({"load_balance_coeff", "use_grouped_mm"});
  spec.feed_forward = mixture(moe);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"afmoe"};
constexpr GgufName kGgufTensors[] = {
    {"attn_gate", "self_attn.gate_proj"}, {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_mlp_layernorm"},    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_gate_inp", "mlp.router.gate"},  {"exp_probs_b.bias", "mlp.expert_bias"}};
constexpr GgufName kGgufKeys[] = {
    {"expert_count", "num_experts"},           {"expert_shared_count", "num_shared_experts"},
    {"expert_shared_feed_forward_length", ""}, {"leading_dense_block_count", "num_dense_layers"},
    {"expert_weights_scale", "route_scale"},   {"expert_weights_norm", "route_norm"},
    {"expert_gating_func", "score_func"},      {"attention.sliding_window_pattern", "layer_types"}};

/// Files do not say it: their readers always scale the embedding.
Status adjust(const Json&, Json& config) {
  config.set("mup_enabled", Json(true));
  return ok_status();
}

}  // namespace

extern const Family kAfmoe;
const Family kAfmoe{"afmoe", kTypes, "afmoe", GgufRows::kPlain, &parse, &adjust, {kGgufTensors, kGgufKeys}};

}  // namespace skua
