// Gemma 2 and VaultGemma: every second layer slides, scores and logits are capped; Gemma 2 has norms after
// its blocks too. llama.cpp has no architecture for VaultGemma. Sources: transformers modeling_gemma2.py,
// modeling_vaultgemma.py and their configurations (5.17); arXiv:2408.00118.
#include <cmath>

#include "models/families.h"
#include "models/gguf_values.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = 4});
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_activation", "gelu_pytorch_tanh");
  config.must_be("attention_bias", Json(false));
  config.must_be("use_bidirectional_attention", Json(false));
  config.ignore({"hidden_act"});
  const bool vault = spec.config.info.model_type == "vaultgemma";
  spec.norms.before_mlp = "pre_feedforward_layernorm";
  if (!vault) {
    spec.norms.after_attention = "post_attention_layernorm";
    spec.norms.after_mlp = "post_feedforward_layernorm";
  }
  // Converters to GGUF add the 1.
  spec.norm_offset = config.flag_or(kGgufConfig, false) ? 0.0f : 1.0f;
  spec.embed_scale = static_cast<float>(std::sqrt(static_cast<double>(spec.config.info.d_model)));
  spec.logit_softcap = static_cast<float>(config.number_or("final_logit_softcapping", 30.0));
  const auto scale = static_cast<float>(1.0 / std::sqrt(config.positive_or("query_pre_attn_scalar", 256.0)));
  const auto softcap = static_cast<float>(config.number_or("attn_logit_softcapping", 50.0));
  spec.adjust_attention = [scale, softcap](AttentionBlock& block) {
    block.scale = scale;
    block.softcap = softcap;
  };
  read_windows(config, spec.config, config.count_or("sliding_window", 4096),
               [](int32_t layer) { return layer % 2 == 0; });
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

/// The 27B model alone has 46 layers.
Status adjust(const Json&, Json& config) { return set_gemma_query_scale(config, 46); }

constexpr std::string_view kTypes[] = {"gemma2", "vaultgemma"};
constexpr GgufName kGgufKeys[] = {{"attention.sliding_window_pattern", "layer_types"}};

}  // namespace

extern const Family kGemma2;
const Family kGemma2{"gemma2", kTypes, "gemma2", GgufRows::kPlain, &parse, &adjust, {.keys = kGgufKeys}};

}  // namespace skua
