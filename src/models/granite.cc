// Granite 3 dense: Llama with fixed factors on embeddings, scores, residuals and logits.
// Sources: transformers modeling_granite.py and configuration_granite.py (5.17).
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.mlp_bias = config.flag_or("mlp_bias", false);
  read_multipliers(config, spec);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"granite"};
}  // namespace

extern const Family kGranite;
const Family kGranite{"granite",
                      kTypes,
                      "granite",
                      GgufRows::kInterleavedQk,
                      &parse,
                      &adjust_granite,
                      {.keys = kNoMixerGgufKeys, .flags = kGgufMlpBias}};

}  // namespace skua
