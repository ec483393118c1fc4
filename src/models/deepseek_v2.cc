// DeepSeek-V2: latent attention, softmax-routed experts (in groups for the large model) beside shared ones.
// Sources: transformers modeling_deepseek_v2.py and configuration_deepseek_v2.py (5.17); arXiv:2405.04434.
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
  config.must_be("mlp_bias", Json(false));
  config.must_be("scoring_func", Json("softmax"));
  config.must_be("norm_topk_prob", Json(false));
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  DeepSeekMoe moe = read_deepseek_moe(config, info, spec.act);
  const std::string method = config.text_or("topk_method", "greedy");
  if (method == "greedy") {
    moe.block.router.n_groups = moe.block.router.top_k_groups = 1;
  } else if (method != "group_limited_greedy") {
    config.fail(unsupported("[model] topk_method \"" + method +
                            "\" is not known for deepseek_v2; known are greedy, group_limited_greedy"));
  }
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

constexpr std::string_view kTypes[] = {"deepseek_v2"};

}  // namespace

extern const Family kDeepSeekV2;
const Family kDeepSeekV2{"deepseek_v2", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
