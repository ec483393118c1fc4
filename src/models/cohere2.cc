// Command R7B and Command A: Command R with sliding layers; full layers do not rotate.
// Sources: transformers modeling_cohere2.py and configuration_cohere2.py (5.17).
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  spec.config.tied = config.flag_or("tie_word_embeddings", true);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.config.eps = config.epsilon_or("layer_norm_eps", 1e-5);
  spec.norm_kind = Norm::Kind::kLayer;
  spec.residual = Residual::kParallel;
  spec.norms.before_mlp = "";
  spec.logit_scale = static_cast<float>(config.number_or("logit_scale", 0.0625));
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  config.must_be("use_qk_norm", Json(false));
  config.must_be("use_gated_activation", Json(true));
  config.must_be("use_parallel_block", Json(true));
  config.must_be("use_embedding_sharing", Json(true));
  config.must_be("position_embedding_type", Json("rope_gptj"));
  config.must_be("rotary_pct", Json(1.0));
  config.ignore({"use_parallel_embedding", "order_of_interleaved_layers", "layer_switch"});
  const int32_t period = config.count_or("sliding_window_pattern", 4);
  read_windows(config, spec.config, config.count_or("sliding_window", 4096),
               [&](int32_t layer) { return (layer + 1) % period != 0; });
  spec.adjust_attention = [](AttentionBlock& block) {
    block.rope_style = RopeStyle::kInterleaved;
    if (block.window == 0) block.rotation = Rotation::kNone;
  };
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"cohere2"};
constexpr GgufName kGgufKeys[] = {{"attention.layer_norm_epsilon", "layer_norm_eps"},
                                  {"logit_scale", "logit_scale"},
                                  {"attention.sliding_window_pattern", "layer_types"}};

}  // namespace

extern const Family kCohere2;
const Family kCohere2{"cohere2", kTypes, "cohere2", GgufRows::kPlain, &parse, nullptr, {.keys = kGgufKeys}};

}  // namespace skua
