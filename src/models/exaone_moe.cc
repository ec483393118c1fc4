// K-EXAONE: EXAONE 4's attention (in mixed models full layers do not rotate), DeepSeek-V3's router.
// Sources: transformers modeling_exaone_moe.py and configuration_exaone_moe.py (5.17).
#include "models/families.h"
#include "models/moe.h"
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
  spec.qk_norm = true;
  const int32_t window = config.count_or_none("sliding_window");
  const int32_t period = read_sliding_period(config, 4);
  read_windows(config, spec.config, window,
               [&](int32_t layer) { return window > 0 && (period == 0 || (layer + 1) % period != 0); });
  spec.adjust_attention = [window](AttentionBlock& block) {
    if (window > 0 && block.window == 0) block.rotation = Rotation::kNone;
  };
  DeepSeekMoe moe =
      read_deepseek_moe(config, spec.config.info, spec.act,
                        {.n_experts = "num_experts", .n_shared = "num_shared_experts", .default_scale = 2.5});
  use_sigmoid_router(config, moe);
  moe.block.names.selection_bias = "e_score_correction_bias";
  moe.block.names.other_bias = "gate.e_score_correction_bias";
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  spec.ignorable = {{"mtp.*", "multi-token prediction is not used"}};
  spec.feed_forward = mixture(moe);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"exaone_moe"};

}  // namespace

extern const Family kExaoneMoe;
const Family kExaoneMoe{"exaone_moe", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
