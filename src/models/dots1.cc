// dots.llm1: Qwen 3's attention, DeepSeek-V3's router and shared experts.
// Sources: transformers modeling_dots1.py and configuration_dots1.py (5.17); arXiv:2506.05767.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 32});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  const int32_t window = config.count_or_none("sliding_window");
  const int32_t first = config.count_or("max_window_layers", 62);
  read_windows(config, spec.config, window, [&](int32_t layer) { return window > 0 && layer >= first; });
  DeepSeekMoe moe = read_deepseek_moe(config, spec.config.info, spec.act);
  use_sigmoid_router(config, moe, MoeRouter::Normalize::kNo);
  config.must_be("mlp_bias", Json(false));
  const std::string score = config.text_or("scoring_func", "noaux_tc");  // one thing under two names
  if (score != "noaux_tc" && score != "sigmoid") {
    config.fail(unsupported("[model] config.json: scoring_func is \"" + score +
                            "\"; handled are noaux_tc and sigmoid (with a selection bias)"));
  }
  config.ignore({"use_sliding_window"});  // the reference goes by the layers
  spec.feed_forward = mixture(moe);
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"dots1"};
constexpr GgufName kGgufKeys[] = {{"expert_count", "n_routed_experts"},
                                  {"expert_shared_count", "n_shared_experts"},
                                  {"expert_shared_feed_forward_length", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.attn_q.bias", "attention_bias"}};

}  // namespace

extern const Family kDots1;
const Family kDots1{"dots1", kTypes, "dots1", GgufRows::kPlain, &parse, nullptr, {{}, kGgufKeys, kGgufFlags}};

}  // namespace skua
