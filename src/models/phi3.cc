// Phi-3, Phi-3.5 and Phi-4 (dense): Llama with fused projections; long contexts by LongRoPE.
// Sources: transformers modeling_phi3.py and configuration_phi3.py (5.17); arXiv:2404.14219.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// The reference takes the original length from the top level of the config (4096 if it is not there), and
/// calls longrope what other models would call yarn.
void check_long_rope(ConfigReader& config, const Json& rope) {
  if (config.flag_or(kGgufConfig, false)) return;  // there everything has one name
  const Json* type = rope.find("rope_type") != nullptr ? rope.find("rope_type") : rope.find("type");
  if (type == nullptr || *type == Json("default")) return;
  if (*type != Json("longrope") && *type != Json("su")) {
    config.fail(unsupported("[model] rope_type " + type->dump().substr(0, 40) +
                            " is not known for phi3; known are default, longrope"));
  }
  const Json* length = rope.find("original_max_position_embeddings");
  if (config.raw("original_max_position_embeddings") == nullptr && length != nullptr &&
      *length != Json(4096)) {
    config.fail(
        unsupported("[model] config.json: phi3 needs original_max_position_embeddings at the top level; "
                    "without it the reference takes 4096, whatever rope_parameters say"));
  }
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("attention_bias", Json(false));
  const int32_t window = config.count_or_none("sliding_window");
  read_windows(config, spec.config, window, [&](int32_t) { return window > 0; });
  spec.adjust_attention = [](AttentionBlock& block) { block.qkv_name = "qkv_proj"; };
  const MlpBlock mlp{"", spec.config.info.d_model, spec.config.info.d_ff, spec.act, false, "gate_up_proj"};
  spec.feed_forward = [mlp](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    MlpBlock block = mlp;
    block.prefix = p + ".mlp";
    return mlp_block(b, block, x);
  };
  spec.partial_rotation = PartialRotation::kKnown;
  const Json rope = rope_parameters(config);
  check_long_rope(config, rope);
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"phi3"};
constexpr GgufName kGgufTensors[] = {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}};
constexpr GgufName kGgufKeys[] = {{"rope.dimension_count", "partial_rotary_factor"}};

}  // namespace

extern const Family kPhi3;
const Family kPhi3{
    "phi3", kTypes, "phi3", GgufRows::kPlain, &parse, nullptr, {.tensors = kGgufTensors, .keys = kGgufKeys}};

}  // namespace skua
