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
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.norms = {"", "post_attention_layernorm", "", "post_feedforward_layernorm"};
  spec.qk_norm = true;
  spec.adjust_attention = [](AttentionBlock& block) { block.qk_norm_over = QkNormOver::kAllHeads; };
  const Json rope = rope_parameters(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, spec.config.info.head_dim, 10000.0));
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"olmo2"};

}  // namespace

extern const Family kOlmo2;
const Family kOlmo2{"olmo2", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
