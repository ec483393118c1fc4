// GPT-OSS: sliding and full layers in turn, a learned sink per head, biases everywhere, experts with a
// clamped gated unit in every layer. Sources: transformers modeling_gpt_oss.py and configuration_gpt_oss.py
// (5.17); mlx-lm gpt_oss.py (names); gpt-oss model card, arXiv:2508.10925.
#include "models/families.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

constexpr float kLimit = 7.0f;  // the reference knows no other

/// What a config without any rope key means.
void set_default_rope(Json& rope) {
  rope.set("rope_type", Json("yarn"));
  rope.set("factor", Json(32.0));
  rope.set("truncate", Json(false));
  rope.set("original_max_position_embeddings", Json(4096));
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 64, .n_kv_heads = 8});
  const ModelInfo& info = spec.config.info;
  spec.config.eps = config.epsilon_or("rms_norm_eps", 1e-5);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", true);
  read_windows(config, spec.config, config.count_or_none("sliding_window"),
               [](int32_t layer) { return layer % 2 == 0; });
  config.must_be("hidden_act", Json("silu"));  // the unit below is fixed
  const double limit = config.number_or("swiglu_limit", kLimit);
  if (limit != kLimit) config.fail(unsupported("[model] config.json: swiglu_limit must be 7"));
  MoeBlock moe;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  const auto named = config.maybe_count("num_experts"), local = config.maybe_count("num_local_experts");
  moe.n_experts = local.value_or(named.value_or(128));
  config.must_equal({"num_experts"}, moe.n_experts);
  const auto in_use = config.maybe_count("experts_per_token");  // both names are in published configs
  moe.router.top_k = config.count_or("num_experts_per_tok", in_use.value_or(4));
  if (in_use && *in_use != moe.router.top_k) {
    config.fail(invalid_argument("[model] config.json: experts_per_token is " + std::to_string(*in_use) +
                                 ", num_experts_per_tok " + std::to_string(moe.router.top_k)));
  }
  moe.router.normalize = MoeRouter::Normalize::kYes;  // softmax over the chosen is the same number
  moe.router_bias = moe.biases = true;
  moe.swiglu_limit = kLimit;
  moe.names.router = "router";
  moe.fused = FusedExperts::kInterleavedColumns;
  config.ignore({"output_router_logits", "router_aux_loss_coef", "initial_context_length"});
  Json rope = rope_parameters(config);
  if (rope.find("rope_type") == nullptr && rope.find("type") == nullptr) set_default_rope(rope);
  spec.adjust_attention = [](AttentionBlock& block) { block.sinks_name = "sinks"; };
  spec.feed_forward = [moe](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    MoeBlock block = moe;
    block.prefix = p + ".mlp";
    return moe_block(b, block, x);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope, 150000.0);
}

constexpr std::string_view kTypes[] = {"gpt_oss"};

/// The reference does not round the borders of its yarn, which files cannot say.
Status adjust(const Json&, Json& config) {
  const Json* given = config.find("rope_scaling");
  if (given == nullptr) return ok_status();
  Json rope = *given;
  rope.set("truncate", Json(false));
  config.set("rope_scaling", std::move(rope));
  return ok_status();
}

constexpr GgufName kGgufTensors[] = {{"attn_sinks.weight", "self_attn.sinks"},
                                     {"post_attention_norm", "post_attention_layernorm"},
                                     {"ffn_gate_inp", "mlp.router"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_local_experts"}, {"expert_feed_forward_length", ""}};

}  // namespace

extern const Family kGptOss;
const Family kGptOss{
    "gpt_oss", kTypes, "gpt-oss", GgufRows::kPlain, &parse, &adjust, {kGgufTensors, kGgufKeys}};

}  // namespace skua
