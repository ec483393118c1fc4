// OLMoE: q and k normed over all heads together, experts in every layer.
// Sources: transformers modeling_olmoe.py and configuration_olmoe.py (5.17); arXiv:2409.02060.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  spec.adjust_attention = [](AttentionBlock& block) { block.qk_norm_over = QkNormOver::kAllHeads; };
  config.must_be("clip_qkv", Json());
  DeepSeekMoe mix;
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = config.count_or("num_experts", 64);
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 8);
  moe.router.normalize = read_normalize(config, false);
  // The reference takes the experts' width from intermediate_size.
  config.ignore({"output_router_logits", "router_aux_loss_coef", "moe_intermediate_size"});
  config.must_equal({"num_local_experts"}, moe.n_experts);
  spec.feed_forward = mixture(mix);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"olmoe"};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"}, {"attention.clamp_kqv", "clip_qkv"}};

}  // namespace

extern const Family kOlmoe;
const Family kOlmoe{"olmoe", kTypes, "olmoe", GgufRows::kPlain, &parse, nullptr, {{}, kGgufKeys}};

}  // namespace skua
