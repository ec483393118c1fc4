// EXAONE 4: norms after each block, per-head norms on q and k; in mixed models full layers do not rotate.
// Sources: transformers modeling_exaone4.py and configuration_exaone4.py (5.17); arXiv:2507.11407.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 32});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.norms = {"", "post_attention_layernorm", "", "post_feedforward_layernorm"};
  spec.qk_norm = true;
  const int32_t window = config.count_or("sliding_window", 0);
  const int32_t period = read_sliding_period(config, 4);
  read_windows(config, spec.config, window,
               [&](int32_t layer) { return window > 0 && (period == 0 || (layer + 1) % period != 0); });
  spec.adjust_attention = [window](AttentionBlock& block) {
    if (window > 0 && block.window == 0) block.rotation = Rotation::kNone;
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"exaone4"};
constexpr GgufName kGgufKeys[] = {{"attention.sliding_window_pattern", "layer_types"}};

}  // namespace

extern const Family kExaone4;
const Family kExaone4{"exaone4", kTypes, "exaone4", GgufRows::kPlain, &parse, nullptr, {.keys = kGgufKeys}};

}  // namespace skua
