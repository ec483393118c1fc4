// MiniCPM3: latent attention with half-split rotation; embeddings, residual branches and logits are scaled.
// Sources: transformers modeling_minicpm3.py and configuration_minicpm3.py (5.17); arXiv:2404.06395.
#include <cmath>

#include "models/families.h"
#include "models/mla.h"
#include "models/mla_gguf.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  config.require({"q_lora_rank"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("mlp_bias", Json(false));
  // Written by the base class; the reference has no experts.
  config.ignore({"first_k_dense_replace", "moe_intermediate_size", "n_group", "n_routed_experts",
                 "n_shared_experts", "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor",
                 "topk_group", "topk_method", "scoring_func"});
  // A missing factor is MiniCPM3-4B's, one of null has no effect.
  const double depth = std::sqrt(static_cast<double>(info.n_layers));
  const double scale_depth =
      config.number_or("scale_depth", json.find("scale_depth") == nullptr ? 1.4 : depth);
  const double base = json.find("dim_model_base") == nullptr ? 256.0 : info.d_model;
  spec.embed_scale = static_cast<float>(config.number_or("scale_emb", 12.0));
  spec.residual_scale = static_cast<float>(scale_depth / depth);
  spec.logit_scale = static_cast<float>(config.positive_or("dim_model_base", base) / info.d_model);
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  mla.style = RopeStyle::kHalf;
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"minicpm3"};
constexpr GgufName kGgufKeys[] = {{"attention.q_lora_rank", "q_lora_rank"},
                                  {"attention.kv_lora_rank", "kv_lora_rank"},
                                  {"rope.dimension_count", ""},
                                  {"attention.key_length", ""}};

/// Files leave unsaid what all published models have in common: the factors (MiniCPM3-4B is the only one),
/// and that heads of values are as wide as their keys without rotation.
Status adjust(const Json& metadata, Json& config) {
  const Json* d_model = config.find("hidden_size");
  if (d_model == nullptr || *d_model != Json(2560)) {
    return unsupported(
        "[gguf] minicpm3.embedding_length is not 2560: files of this architecture do not say "
        "scale_emb, scale_depth and dim_model_base, which are known of MiniCPM3-4B alone; use "
        "its original checkpoint");
  }
  Json whole = metadata;
  const Json* key = metadata.find("minicpm3.attention.key_length");
  const Json* rope = metadata.find("minicpm3.rope.dimension_count");
  const bool sized = key != nullptr && rope != nullptr && key->is_int() && rope->is_int();
  if (sized) whole.set("minicpm3.attention.value_length", Json(key->as_int() - rope->as_int()));
  config.set("scale_emb", Json(12));
  config.set("scale_depth", Json(1.4));
  config.set("dim_model_base", Json(256));
  return adjust_mla(whole, config);
}

}  // namespace

extern const Family kMiniCpm3;
const Family kMiniCpm3{"minicpm3",
                       kTypes,
                       "minicpm3",
                       GgufRows::kPlain,
                       &parse,
                       &adjust,
                       {.tensors = kMlaGgufTensors, .keys = kGgufKeys}};

}  // namespace skua
