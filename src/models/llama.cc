// Llama 1 to 3, SmolLM 1 and 2, and the many checkpoints that call themselves "llama".
// Sources: transformers modeling_llama.py and configuration_llama.py (5.x); arXiv:2302.13971.
#include "models/families.h"
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
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"llama"};

/// Files of Mistral share the architecture; only they can slide.
bool full(const Checkpoint& file) { return file.config().find("llama.attention.sliding_window") == nullptr; }

}  // namespace

extern const Family kLlama;
const Family kLlama{"llama",
                    kTypes,
                    "llama",
                    GgufRows::kInterleavedQk,
                    &parse,
                    nullptr,
                    {.flags = kGgufMlpBias, .fits = &full}};

}  // namespace skua
