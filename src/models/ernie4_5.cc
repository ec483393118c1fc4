// ERNIE 4.5 dense: Llama that rotates neighbouring pairs.
// Sources: transformers modeling_ernie4_5.py and configuration_ernie4_5.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 128, .n_kv_heads = 2});
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = spec.mlp_bias = config.flag_or("use_bias", false);
  spec.adjust_attention = [](AttentionBlock& block) { block.rope_style = RopeStyle::kInterleaved; };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 500000.0);
}

constexpr std::string_view kTypes[] = {"ernie4_5"};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_output.bias", "use_bias"}};

}  // namespace

extern const Family kErnie45;
const Family kErnie45{"ernie4_5", kTypes,  "ernie4_5",           GgufRows::kPlain,
                      &parse,     nullptr, {.flags = kGgufFlags}};

}  // namespace skua
