// ERNIE 4.5 MoE: ERNIE's attention; softmax router whose selection bias is added to the probabilities.
// Sources: transformers modeling_ernie4_5_moe.py and configuration_ernie4_5_moe.py (5.17).
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// Layers from moe_layer_start_index to moe_layer_end_index (-1: the last), of them each interval-th.
std::vector<char> read_expert_layers(ConfigReader& config, int32_t n_layers) {
  const double first = config.number_or("moe_layer_start_index", 1);
  double last = config.number_or("moe_layer_end_index", -1);
  if (last == -1) last = n_layers - 1;
  if (first < 0 || first > n_layers)
    config.fail(invalid_argument("[model] config.json: \"moe_layer_start_index\" is out of range"));
  if (last < 0 || last >= n_layers)
    config.fail(invalid_argument("[model] config.json: \"moe_layer_end_index\" is out of range"));
  const int32_t interval = config.count_or("moe_layer_interval", 1);
  std::vector<char> out;
  for (int32_t layer = 0; layer < n_layers; ++layer) {
    out.push_back((layer + 1) % interval == 0 && layer >= first && layer <= last ? 1 : 0);
  }
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 4});
  config.require({"moe_num_shared_experts"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  DeepSeekMoe mix;
  spec.qkv_bias = spec.o_bias = mix.bias = spec.head_bias = config.flag_or("use_bias", false);
  spec.adjust_attention = [](AttentionBlock& block) { block.rope_style = RopeStyle::kInterleaved; };
  mix.d_dense = info.d_ff;
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = config.count("moe_intermediate_size");
  moe.n_experts = config.count_or("moe_num_experts", 64);
  moe.act = spec.act;
  moe.router.top_k = config.count_or("moe_k", 6);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  moe.router.sum_floor = static_cast<float>(config.number_or("moe_norm_min", 1e-12));
  moe.names.selection_bias = "moe_statics.e_score_correction_bias";
  mix.d_shared = config.count_or_none("moe_num_shared_experts") * moe.d_ff;
  mix.sparse = read_expert_layers(config, info.n_layers);
  config.must_be("moe_gate", Json("topk"));
  config.must_be("moe_gate_act", Json("softmax"));
  config.must_be("moe_use_aux_free", Json(true));
  config.ignore({"moe_capacity", "output_router_logits", "router_aux_loss_coef", "num_nextn_predict_layers"});
  config.must_equal({"num_experts", "num_local_experts"}, moe.n_experts);
  config.must_equal({"num_experts_per_tok"}, moe.router.top_k);
  spec.ignorable = {{"*mtp_*", "multi-token prediction is not used"}};
  spec.feed_forward = mixture(mix);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 500000.0);
}

constexpr std::string_view kTypes[] = {"ernie4_5_moe"};
constexpr GgufName kGgufTensors[] = {{"exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "moe_num_experts"},
                                  {"expert_used_count", "moe_k"},
                                  {"expert_shared_count", "moe_num_shared_experts"},
                                  {"expert_shared_feed_forward_length", ""},
                                  {"leading_dense_block_count", "moe_layer_start_index"},
                                  {"interleave_moe_layer_step", "moe_layer_interval"},
                                  {"expert_gating_func", "moe_gate_act"}};

}  // namespace

extern const Family kErnie45Moe;
const Family kErnie45Moe{"ernie4_5_moe", kTypes,  "ernie4_5-moe",           GgufRows::kPlain,
                         &parse,         nullptr, {kGgufTensors, kGgufKeys}};

}  // namespace skua
