// GLM-4.5 and 4.6: half of each head rotates, optional norms on q and k, DeepSeek-V3's router.
// Sources: transformers modeling_glm4_moe.py and configuration_glm4_moe.py (5.17); arXiv:2508.06471.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 8});
  config.require({"first_k_dense_replace", "n_shared_experts"});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = config.flag_or("use_qk_norm", false);
  DeepSeekMoe moe = read_deepseek_moe(config, spec.config.info, spec.act);
  use_sigmoid_router(config, moe);
  ignore_guessing_layers(config, spec);
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  spec.feed_forward = mixture(moe);
  Json rope = rope_parameters(config);
  if (rope.find("partial_rotary_factor") == nullptr) rope.set("partial_rotary_factor", Json(0.5));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"glm4_moe"};
constexpr GgufName kGgufTensors[] = {{"post_attention_norm", "post_attention_layernorm"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "n_routed_experts"},
                                  {"expert_shared_count", "n_shared_experts"},
                                  {"expert_shared_feed_forward_length", ""},
                                  {"rope.dimension_count", "partial_rotary_factor"},
                                  {"nextn_predict_layers", "num_nextn_predict_layers"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "attention_bias"},
                                   {"blk.0.attn_q_norm.weight", "use_qk_norm"}};

}  // namespace

extern const Family kGlm4Moe;
const Family kGlm4Moe{
    "glm4_moe", kTypes, "glm4moe", GgufRows::kPlain, &parse, nullptr, {kGgufTensors, kGgufKeys, kGgufFlags}};

}  // namespace skua
