// Hunyuan dense: Llama with Hunyuan's attention. Sources: transformers modeling_hunyuan_v1_dense.py and
// configuration_hunyuan_v1_dense.py (5.17).
#include "models/families.h"
#include "models/hunyuan.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  read_hunyuan_attention(config, spec);
  config.must_be("mlp_bias", Json(false));
  const Json rope = hunyuan_rope(rope_parameters(config), spec.config.info.head_dim);
  return finish_pre_norm(config, policy, std::move(spec), rope, 10000.0);
}

constexpr std::string_view kTypes[] = {"hunyuan_v1_dense"};
constexpr GgufName kGgufTensors[] = {{"attn_q_norm", "self_attn.query_layernorm"},
                                     {"attn_k_norm", "self_attn.key_layernorm"}};

}  // namespace

extern const Family kHunyuanV1Dense;
const Family kHunyuanV1Dense{"hunyuan_v1_dense",       kTypes, "hunyuan-dense",
                             GgufRows::kPlain,         &parse, nullptr,
                             {.tensors = kGgufTensors}};

}  // namespace skua
