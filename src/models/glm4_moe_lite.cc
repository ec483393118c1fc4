// GLM-4.7-Flash: DeepSeek-V3's latent attention and router in GLM's small mixture.
// Sources: transformers modeling_glm4_moe_lite.py and configuration_glm4_moe_lite.py (5.17).
#include "models/families.h"
#include "models/mla.h"
#include "models/moe.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  config.require({"n_shared_experts", "q_lora_rank"});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.ignore({"topk_method"});  // the reference routes by bias and groups whatever it says
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
  return finish_sigmoid_mla(config, policy, std::move(spec), mla, {.default_scale = 1.8});
}

constexpr std::string_view kTypes[] = {"glm4_moe_lite"};

}  // namespace

extern const Family kGlm4MoeLite;
const Family kGlm4MoeLite{"glm4_moe_lite",         kTypes, "", GgufRows::kPlain, &parse, nullptr,
                          {.read_as = "deepseek2"}};

}  // namespace skua
