// Qwen 2 and 2.5: biases on q, k and v; upper layers may slide.
// Sources: transformers modeling_qwen2.py and configuration_qwen2.py (5.x); arXiv:2407.10671.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 32});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = true;
  read_qwen_windows(config, spec.config);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"qwen2"};

}  // namespace

extern const Family kQwen2;
const Family kQwen2{"qwen2", kTypes, "qwen2", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
