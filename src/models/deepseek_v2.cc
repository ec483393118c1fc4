// DeepSeek-V2: latent attention, softmax-routed experts (in groups for the large model) beside shared ones.
// Sources: transformers modeling_deepseek_v2.py and configuration_deepseek_v2.py (5.17); arXiv:2405.04434.
#include "models/families.h"
#include "models/mla.h"
#include "models/mla_gguf.h"
#include "models/moe.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  config.require({"n_shared_experts", "q_lora_rank"});
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
  spec.feed_forward = mixture(moe);
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"deepseek_v2"};

Status adjust(const Json& metadata, Json& config) {
  const Json* groups = config.find("n_group");
  if (groups != nullptr && *groups != Json(1)) config.set("topk_method", Json("group_limited_greedy"));
  return adjust_mla(metadata, config);
}

}  // namespace

extern const Family kDeepSeekV2;
const Family kDeepSeekV2{"deepseek_v2",
                         kTypes,
                         "deepseek2",
                         GgufRows::kPlain,
                         &parse,
                         &adjust,
                         {.tensors = kMlaGgufTensors, .keys = kMlaGgufKeys, .fits = &has_softmax_router}};

}  // namespace skua
