// Gemma 1: norm weights stored as w - 1, embeddings scaled by sqrt(d_model), heads of 256.
// Sources: transformers modeling_gemma.py and configuration_gemma.py (5.17); arXiv:2403.08295.
#include <cmath>

#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = 16});
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  // "gelu" of the first configs meant the tanh form, which the weights were trained with.
  const std::string act =
      config.text_or("hidden_activation", config.text_or("hidden_act", "gelu_pytorch_tanh"));
  if (act != "gelu" && act != "gelu_pytorch_tanh") {
    config.fail(unsupported("[model] \"hidden_act\" is \"" + act + "\"; known are gelu, gelu_pytorch_tanh"));
  }
  spec.act = Act::kGeluTanh;
  config.must_be("attention_bias", Json(false));
  config.must_be("use_bidirectional_attention", Json(false));
  // Converters to GGUF add the 1.
  spec.norm_offset = config.flag_or(kGgufConfig, false) ? 0.0f : 1.0f;
  spec.embed_scale = static_cast<float>(std::sqrt(static_cast<double>(spec.config.info.d_model)));
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"gemma"};

}  // namespace

extern const Family kGemma;
const Family kGemma{"gemma", kTypes, "gemma", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
