// OLMo 2: norms after each block instead of before, q and k normed over all heads.
// Sources: transformers modeling_olmo2.py and configuration_olmo2.py (5.17); arXiv:2501.00656.
#include "models/families.h"
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
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.norms = {"", "post_attention_layernorm", "", "post_feedforward_layernorm"};
  spec.qk_norm = true;
  spec.adjust_attention = [](AttentionBlock& block) { block.qk_norm_over = QkNormOver::kAllHeads; };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"olmo2"};

/// Files of OLMo 2 and 3 share an architecture; only OLMo 3 slides.
bool full(const Checkpoint& file) { return file.config().find("olmo2.attention.sliding_window") == nullptr; }

}  // namespace

extern const Family kOlmo2;
const Family kOlmo2{"olmo2", kTypes, "olmo2", GgufRows::kPlain, &parse, nullptr, {.fits = &full}};

}  // namespace skua
