// Youtu-LLM: latent attention with plain gated MLPs.
// Sources: transformers modeling_youtu.py and configuration_youtu.py (5.17).
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
  config.ignore({"embedding_initializer_range", "first_k_dense_replace", "moe_intermediate_size", "n_group",
                 "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
                 "routed_scaling_factor", "topk_group", "topk_method", "scoring_func"});
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  mla.style = config.flag_or("rope_interleave", true) ? RopeStyle::kInterleaved : RopeStyle::kHalf;
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"youtu"};

}  // namespace

extern const Family kYoutu;
const Family kYoutu{"youtu", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
