// OLMo 3: OLMo 2 with three sliding layers to one full layer; only full layers stretch their rotation.
// Sources: transformers modeling_olmo3.py and configuration_olmo3.py (5.17).
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
  read_windows(config, spec.config, config.count_or("sliding_window", 4096),
               [](int32_t layer) { return (layer + 1) % 4 != 0; });
  const LayerRope rope = read_layer_rope(
      config, config.number_or("rope_local_base_freq", config.number_or("rope_theta", 500000.0)));
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope.full, spec.config.info.head_dim, 500000.0));
  SKUA_ASSIGN_OR_RETURN(spec.sliding_angles,
                        rope_angles_from(rope.sliding, spec.config.info.head_dim, 500000.0));
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"olmo3"};
constexpr GgufName kGgufKeys[] = {{"attention.sliding_window_pattern", "layer_types"}};

/// Files of OLMo 2 and 3 share an architecture; only OLMo 3 slides.
bool slides(const Checkpoint& file) {
  return file.config().find("olmo2.attention.sliding_window") != nullptr;
}

}  // namespace

extern const Family kOlmo3;
const Family kOlmo3{
    "olmo3", kTypes, "olmo2", GgufRows::kPlain, &parse, nullptr, {.keys = kGgufKeys, .fits = &slides}};

}  // namespace skua
