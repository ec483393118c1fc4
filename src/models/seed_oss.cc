// Seed-OSS: Llama with biases on q, k and v.
// Sources: transformers modeling_seed_oss.py and configuration_seed_oss.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 128, .n_kv_heads = 8});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = config.flag_or("attention_bias", true);
  spec.o_bias = config.flag_or("attention_out_bias", false);
  spec.mlp_bias = config.flag_or("mlp_bias", false);
  config.ignore({"residual_dropout"});
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"seed_oss"};
constexpr GgufName kGgufTensors[] = {{"post_attention_norm", "post_attention_layernorm"}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "attention_bias"},
                                   {"blk.0.attn_output.bias", "attention_out_bias"},
                                   {"blk.0.ffn_up.bias", "mlp_bias"}};

}  // namespace

extern const Family kSeedOss;
const Family kSeedOss{"seed_oss",
                      kTypes,
                      "seed_oss",
                      GgufRows::kPlain,
                      &parse,
                      nullptr,
                      {.tensors = kGgufTensors, .flags = kGgufFlags}};

}  // namespace skua
