// Qwen 3 dense: per-head norms on q and k.
// Sources: transformers modeling_qwen3.py and configuration_qwen3.py (5.x); arXiv:2505.09388.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 128, .n_kv_heads = 32});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qk_norm = true;
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  read_qwen_windows(config, spec.config);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen3"};

}  // namespace

extern const Family kQwen3;
const Family kQwen3{"qwen3", kTypes, "qwen3", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
