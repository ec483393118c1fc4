// MiniMax-M2: q and k normed over all heads together, sigmoid-routed experts with a selection bias in every
// layer. Sources: transformers modeling_minimax_m2.py and configuration_minimax_m2.py (5.17); for keys of
// older configs mlx-lm models/minimax.py (0.32).
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// Older configs are those of a wider family of models, of which this is one point.
void refuse_other_layers(ConfigReader& config) {
  if (const Json* types = config.raw("attn_type_list")) {
    bool softmax = types->is_array();
    for (const Json& type : types->items()) softmax = softmax && type == Json(1);
    if (!softmax) {
      config.fail(unsupported("[model] config.json: attn_type_list is " + types->dump().substr(0, 80) +
                              "; only a list of 1 (softmax attention) is handled"));
    }
  }
  config.must_be("use_qk_norm", Json(true));
  config.must_be("qk_norm_type", Json("per_layer"));
  config.must_be("use_routing_bias", Json(true));
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("shared_intermediate_size", Json(0));
  config.must_be("sliding_window", Json());
  for (const char* key :
       {"layernorm_full_attention_beta", "layernorm_linear_attention_beta", "layernorm_mlp_beta"})
    config.must_be(key, Json(1.0));
  config.ignore({"mlp_intermediate_size", "moe_intermediate_size", "mtp_transformer_layers",
                 "num_mtp_modules", "output_router_logits", "router_aux_loss_coef", "shared_moe_mode",
                 "use_mtp"});
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 128, .n_kv_heads = 8});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qk_norm = true;
  spec.adjust_attention = [](AttentionBlock& block) { block.qk_norm_over = QkNormOver::kAllHeads; };
  DeepSeekMoe mix;
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = config.count_or("num_local_experts", 256);
  config.must_equal({"num_experts"}, moe.n_experts);
  moe.act = spec.act;
  moe.router.score = RouterScore::kSigmoid;
  moe.router.top_k = config.count_or("num_experts_per_tok", 8);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  moe.names.selection_bias = "e_score_correction_bias";
  moe.names.gate = "w1";
  moe.names.up = "w3";
  moe.names.down = "w2";
  refuse_other_layers(config);
  Json rope = rope_parameters(config);
  if (const auto rotated = config.maybe_count("rotary_dim");
      rotated && rope.find("partial_rotary_factor") == nullptr)
    rope.set("partial_rotary_factor", Json(rotary_fraction(*rotated, info.head_dim)));
  spec.feed_forward = mixture(mix, "block_sparse_moe");
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 5e6);
}

constexpr std::string_view kTypes[] = {"minimax_m2"};
constexpr GgufName kGgufTensors[] = {{"ffn_gate_inp", "block_sparse_moe.gate"},
                                     {"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"},
                                     {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"},
                                     {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
                                     {"ffn_down_exps", "block_sparse_moe.experts.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_local_experts"},
                                  {"expert_feed_forward_length", ""},
                                  {"rope.dimension_count", "partial_rotary_factor"}};

}  // namespace

extern const Family kMiniMaxM2;
const Family kMiniMaxM2{
    "minimax_m2", kTypes, "minimax-m2", GgufRows::kPlain, &parse, nullptr, {kGgufTensors, kGgufKeys}};

}  // namespace skua
