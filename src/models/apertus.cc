// Apertus: per-head norms on q and k, a plain MLP with the learned activation xIELU.
// Sources: transformers modeling_apertus.py and configuration_apertus.py (5.17); arXiv:2509.14233,
// arXiv:2411.13010.
#include "models/families.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// What a config without any rope key means.
void set_default_rope(Json& rope) {
  rope.set("rope_type", Json("llama3"));
  rope.set("factor", Json(8.0));
  rope.set("low_freq_factor", Json(1.0));
  rope.set("high_freq_factor", Json(4.0));
  rope.set("original_max_position_embeddings", Json(8192));
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.qk_norm = true;
  spec.norms.before_attention = "attention_layernorm";
  spec.norms.before_mlp = "feedforward_layernorm";
  config.must_be("hidden_act", Json("xielu"));
  config.must_be("mlp_bias", Json(false));
  const int64_t d_model = spec.config.info.d_model, d_ff = spec.config.info.d_ff;
  spec.feed_forward = [d_model, d_ff](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    const auto number = [&](const char* name) { return b.vector(p + ".mlp.act_fn." + name, 1); };
    const ValueId up =
        b.linear("up", x, {b.weight(p + ".mlp.up_proj.weight", d_ff, d_model), std::nullopt}, DType::kF32);
    const ValueId hidden =
        b.xielu("act", up, {number("alpha_p"), number("alpha_n"), number("beta"), number("eps")},
                b.numerics().matmul_input);
    return b.linear("down", hidden, {b.weight(p + ".mlp.down_proj.weight", d_model, d_ff), std::nullopt},
                    DType::kF32);
  };
  Json rope = rope_parameters(config);
  if (rope.members().empty()) set_default_rope(rope);
  const bool typed = rope.find("rope_type") != nullptr || rope.find("type") != nullptr;
  if (!typed && !config.flag_or(kGgufConfig, false)) {
    config.fail(
        unsupported("[model] config.json: apertus with a rope_theta and no rope type is read with and "
                    "without scaling by releases of its reference; write rope_parameters out"));
  }
  return finish_pre_norm(config, policy, std::move(spec), rope, 12000000.0);
}

constexpr std::string_view kTypes[] = {"apertus"};
constexpr GgufName kGgufTensors[] = {{"attn_norm", "attention_layernorm"},
                                     {"ffn_norm", "feedforward_layernorm"}};
constexpr GgufName kGgufLists[] = {{"xielu.alpha_p", "mlp.act_fn.alpha_p"},
                                   {"xielu.alpha_n", "mlp.act_fn.alpha_n"},
                                   {"xielu.beta", "mlp.act_fn.beta"},
                                   {"xielu.eps", "mlp.act_fn.eps"}};

}  // namespace

extern const Family kApertus;
const Family kApertus{"apertus",
                      kTypes,
                      "apertus",
                      GgufRows::kPlain,
                      &parse,
                      nullptr,
                      {.tensors = kGgufTensors, .lists = kGgufLists}};

}  // namespace skua
