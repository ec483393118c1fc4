// Youtu-LLM: latent attention with plain gated MLPs.
// Sources: transformers modeling_youtu.py and configuration_youtu.py (5.17).
#include "models/families.h"
#include "models/mla.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
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
  const Json rope = rope_parameters(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, mla.rope_dim, 10000.0));
  mla.scale = mla_scale(mla, rope);
  spec.attention = [mla](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x, ValueId angles) {
    return mla_block(b, mla, p + ".self_attn", layer, x, angles);
  };
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"youtu"};

}  // namespace

extern const Family kYoutu;
const Family kYoutu{"youtu", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
