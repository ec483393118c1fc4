// LFM2-MoE: LFM2's layers, with routed experts in all but the first: sigmoid scores, a bias of the choice.
// Sources: transformers modeling_lfm2_moe.py and configuration_lfm2_moe.py (5.17); arXiv:2511.23404.
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/moe.h"
#include "models/rope_scaling.h"
#include "models/short_conv.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  read_lfm2(config, spec);
  const ModelInfo& info = spec.config.info;
  MoeBlock moe;
  moe.d_model = info.d_model;
  moe.d_ff = config.count("moe_intermediate_size");
  moe.n_experts = config.count("num_experts");
  moe.names = {.gate = "w1", .up = "w3", .down = "w2"};
  if (config.flag_or("use_expert_bias", true)) moe.names.selection_bias = "expert_bias";
  moe.router.score = RouterScore::kSigmoid;
  moe.router.top_k = config.count_or("num_experts_per_tok", 4);
  moe.router.normalize = read_normalize(config, true);
  moe.router.sum_eps = 1e-6f;
  moe.router.scale = static_cast<float>(config.number_or("routed_scaling_factor", 1.0));
  const bool stated = config.raw("num_dense_layers") != nullptr;
  const int32_t n_dense = stated ? config.count_or_none("num_dense_layers") : 2;
  config.must_be("scoring_func", Json("sigmoid"));
  config.ignore({"router_aux_loss_coef", "output_router_logits"});
  config.must_equal({"num_local_experts"}, moe.n_experts);
  const bool renamed = config.flag_or(kMlxLayoutKey, false);  // MLX gives the dense layers common names
  spec.feed_forward = [moe, n_dense, renamed, d_ff = info.d_ff](GraphBuilder& b, const std::string& p,
                                                                int32_t layer, ValueId x) {
    MoeBlock block = moe;
    block.prefix = p + ".feed_forward";
    if (layer < n_dense && renamed) return mlp_block(b, {block.prefix, moe.d_model, d_ff}, x);
    if (layer < n_dense) return lfm2_mlp(b, block.prefix, moe.d_model, d_ff, x);
    return moe_block(b, block, x);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 1e6);
}

constexpr std::string_view kTypes[] = {"lfm2_moe"};

Status adjust(const Json& metadata, Json& config) {
  return set_layer_types(metadata, "layer_types", "conv", "full_attention", config);
}

constexpr GgufName kGgufKeys[] = {{"attention.head_count_kv", ""},
                                  {"shortconv.l_cache", "conv_L_cache"},
                                  {"attention.layer_norm_rms_epsilon", "norm_eps"},
                                  {"expert_count", "num_experts"},
                                  {"leading_dense_block_count", "num_dense_layers"}};

}  // namespace

extern const Family kLfm2Moe;
const Family kLfm2Moe{
    "lfm2_moe", kTypes, "lfm2moe", GgufRows::kPlain, &parse, &adjust, {kLfm2GgufTensors, kGgufKeys}};

}  // namespace skua
