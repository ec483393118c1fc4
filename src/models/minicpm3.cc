// MiniCPM3: latent attention with half-split rotation; embeddings, residual branches and logits are scaled.
// Sources: transformers modeling_minicpm3.py and configuration_minicpm3.py (5.17); arXiv:2404.06395.
#include <cmath>

#include "models/families.h"
#include "models/mla.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("mlp_bias", Json(false));
  // Written by the base class; the reference has no experts.
  config.ignore({"first_k_dense_replace", "moe_intermediate_size", "n_group", "n_routed_experts",
                 "n_shared_experts", "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor",
                 "topk_group", "topk_method", "scoring_func"});
  spec.embed_scale = static_cast<float>(config.number_or("scale_emb", 1.0));
  spec.residual_scale = static_cast<float>(config.number_or("scale_depth", 1.0) /
                                           std::sqrt(static_cast<double>(info.n_layers)));
  spec.logit_scale = static_cast<float>(config.number_or("dim_model_base", info.d_model) /
                                        static_cast<double>(info.d_model));
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  mla.style = RopeStyle::kHalf;
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"minicpm3"};

}  // namespace

extern const Family kMiniCpm3;
const Family kMiniCpm3{"minicpm3", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
