// K-EXAONE: EXAONE 4's attention (in mixed models full layers do not rotate), DeepSeek-V3's router.
// Sources: transformers modeling_exaone_moe.py and configuration_exaone_moe.py (5.17).
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// is_moe_layer, which older configs carry besides, must tell the same.
void check_expert_layers(ConfigReader& config, const std::vector<char>& sparse) {
  const Json* listed = config.raw("is_moe_layer");
  if (listed == nullptr) return;
  Json expected = Json::array();
  for (const char layer : sparse) expected.push_back(Json(layer != 0));
  if (*listed != expected) {
    config.fail(unsupported("[model] config.json: \"is_moe_layer\" is " + listed->dump().substr(0, 80) +
                            "; mlp_layer_types (dense, sparse) or first_k_dense_replace say " +
                            expected.dump().substr(0, 80)));
  }
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 32});
  config.require({"num_shared_experts"});
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
  check_expert_layers(config, moe.sparse);
  use_sigmoid_router(config, moe);
  moe.block.names.selection_bias = "e_score_correction_bias";
  moe.block.names.other_bias = "gate.e_score_correction_bias";
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  ignore_guessing_layers(config, spec);
  spec.ignorable.push_back({"mtp.*", "multi-token prediction is not used"});
  spec.feed_forward = mixture(moe);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"exaone_moe"};
constexpr GgufName kGgufTensors[] = {{"exp_probs_b.bias", "mlp.e_score_correction_bias"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_experts"},
                                  {"expert_shared_count", "num_shared_experts"},
                                  {"expert_shared_feed_forward_length", ""},
                                  {"attention.sliding_window_pattern", "layer_types"},
                                  {"nextn_predict_layers", "num_nextn_predict_layers"}};

}  // namespace

extern const Family kExaoneMoe;
const Family kExaoneMoe{
    "exaone_moe", kTypes, "exaone-moe", GgufRows::kPlain, &parse, nullptr, {kGgufTensors, kGgufKeys}};

}  // namespace skua
