// GLM-4 (0414): norms before and after each block, half of each head rotated in neighbouring pairs.
// Sources: transformers modeling_glm4.py and configuration_glm4.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1.5625e-7, .head_dim = 128, .n_kv_heads = 2});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = config.flag_or("attention_bias", true);
  spec.norms = {"input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm",
                "post_mlp_layernorm"};
  spec.adjust_attention = [](AttentionBlock& block) { block.rope_style = RopeStyle::kInterleaved; };
  const MlpBlock mlp{"", spec.config.info.d_model, spec.config.info.d_ff, spec.act, false, "gate_up_proj"};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    MlpBlock block = mlp;
    block.prefix = p + ".mlp";
    return mlp_block(b, block, x);
  };
  Json rope = rope_parameters(config);
  if (rope.find("partial_rotary_factor") == nullptr) rope.set("partial_rotary_factor", Json(0.5));
  spec.partial_rotation = PartialRotation::kKnown;
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"glm4"};
constexpr GgufName kGgufTensors[] = {{"post_attention_norm", "post_self_attn_layernorm"},
                                     {"ffn_norm", "post_attention_layernorm"},
                                     {"post_ffw_norm", "post_mlp_layernorm"},
                                     {"ffn_up", "mlp.gate_up_proj"}};
constexpr GgufName kGgufKeys[] = {{"rope.dimension_count", "partial_rotary_factor"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "attention_bias"}};

}  // namespace

extern const Family kGlm4;
const Family kGlm4{"glm4",
                   kTypes,
                   "glm4",
                   GgufRows::kPlain,
                   &parse,
                   nullptr,
                   {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags}};

}  // namespace skua
