// Solar Open: Llama's attention, experts by DeepSeek-V3's router in every layer.
// Sources: transformers modeling_solar_open.py and configuration_solar_open.py (5.17).
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 128, .d_ff = 1, .n_kv_heads = 8});
  config.require({"n_shared_experts"});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = config.flag_or("attention_bias", false);
  DeepSeekMoe moe = read_deepseek_moe(config, spec.config.info, spec.act);
  moe.sparse.clear();  // the reference has no dense layers, whatever first_k_dense_replace says
  use_sigmoid_router(config, moe);
  config.must_be("use_qk_norm", Json(false));
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  spec.feed_forward = mixture(moe);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 1e6);
}

constexpr std::string_view kTypes[] = {"solar_open"};

}  // namespace

extern const Family kSolarOpen;
const Family kSolarOpen{"solar_open", kTypes, "", GgufRows::kPlain, &parse, nullptr, {.read_as = "glm4moe"}};

}  // namespace skua
