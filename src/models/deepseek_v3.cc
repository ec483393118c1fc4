// DeepSeek-V3 and R1: latent attention, sigmoid-routed experts chosen in groups with a selection bias.
// Sources: transformers modeling_deepseek_v3.py and configuration_deepseek_v3.py (5.17); arXiv:2412.19437.
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
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  mla.style = config.flag_or("rope_interleave", true) ? RopeStyle::kInterleaved : RopeStyle::kHalf;
  DeepSeekMoe moe = read_deepseek_moe(config, info, spec.act);
  use_sigmoid_router(config, moe);
  const Json rope = rope_parameters(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, mla.rope_dim, 10000.0));
  mla.scale = mla_scale(mla, rope);
  spec.attention = [mla](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x, ValueId angles) {
    return mla_block(b, mla, p + ".self_attn", layer, x, angles);
  };
  spec.feed_forward = [moe](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x) {
    return deepseek_moe(b, moe, p + ".mlp", layer, x);
  };
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"deepseek_v3"};

}  // namespace

extern const Family kDeepSeekV3;
const Family kDeepSeekV3{"deepseek_v3", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
