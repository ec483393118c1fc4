// Qwen 3 MoE: Qwen 3's attention with per-head norms, experts in most layers.
// Sources: transformers modeling_qwen3_moe.py and configuration_qwen3_moe.py (5.17); arXiv:2505.09388.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 4});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qk_norm = true;
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  read_qwen_windows(config, spec.config, QwenWindows::kAll);
  DeepSeekMoe mix;
  mix.d_dense = info.d_ff;
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = config.count("moe_intermediate_size");
  const auto named = config.maybe_count("num_experts"), local = config.maybe_count("num_local_experts");
  moe.n_experts = named.value_or(local.value_or(128));
  config.must_equal({"num_local_experts"}, moe.n_experts);
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 8);
  moe.router.normalize = read_normalize(config, false);
  mix.sparse = read_sparse_layers(config, info.n_layers);
  config.ignore({"output_router_logits", "router_aux_loss_coef"});
  spec.feed_forward = mixture(mix);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3_moe"};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"}};

/// Files do not say it: their readers always normalise.
Status adjust(const Json&, Json& config) {
  config.set("norm_topk_prob", Json(true));
  return ok_status();
}

}  // namespace

extern const Family kQwen3Moe;
const Family kQwen3Moe{"qwen3_moe", kTypes, "qwen3moe", GgufRows::kPlain, &parse, &adjust, {{}, kGgufKeys}};

}  // namespace skua
