// Falcon-H1: every layer attends and scans side by side, then a gated MLP; fixed factors in many places.
// Sources: transformers modeling_falcon_h1.py and configuration_falcon_h1.py (5.17).
#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/families.h"
#include "models/gguf_values.h"
#include "models/mamba.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

struct Factors {
  float attention_in = 1, attention_out = 1, key = 1, ssm_out = 1, gate = 1, down = 1;
};

/// The `n` numbers of a list that may be missing (all 1).
std::vector<float> factors(ConfigReader& config, std::string_view key, size_t n) {
  std::vector<float> out(n, 1.0f);
  const Json* list = config.raw(key);
  if (list == nullptr) return out;
  bool fits = list->is_array() && list->size() == n;
  for (size_t i = 0; fits && i < n; ++i) {
    fits = list->items()[i].is_number();
    if (fits) out[i] = static_cast<float>(list->items()[i].as_double());
  }
  if (!fits) {
    config.fail(invalid_argument("[model] config.json: " + std::string(key) + " must hold " +
                                 std::to_string(n) + " numbers"));
  }
  return out;
}

float factor(ConfigReader& config, std::string_view key) {
  return static_cast<float>(config.number_or(key, 1.0));
}

ValueId scaled(GraphBuilder& b, std::string_view label, ValueId x, float factor, DType storage) {
  return factor == 1.0f ? x : b.scale(label, x, factor, storage);
}

Mamba2Block read_scan(ConfigReader& config, const DecoderConfig& sizes) {
  const int64_t wide = int64_t{sizes.info.d_model} * config.count_or("mamba_expand", 2);
  const int32_t d_inner =
      config.count_or("mamba_d_ssm", static_cast<int32_t>(std::min(wide, int64_t{INT32_MAX})));
  Mamba2Block out = read_mamba2(config, sizes.info.d_model, d_inner, {});
  out.in_bias = config.flag_or("mamba_proj_bias", false);
  out.out_bias = config.flag_or("projectors_bias", false);
  out.eps = sizes.eps;
  out.norm_groups = out.n_groups;
  const bool normed = config.flag_or("mamba_rms_norm", false);
  const bool norm_first = config.flag_or("mamba_norm_before_gate", true);
  out.gate = !normed ? MambaGate::kAlone : norm_first ? MambaGate::kAfterNorm : MambaGate::kThenNorm;
  const float all = factor(config, "ssm_in_multiplier");
  const std::vector<float> parts = factors(config, "ssm_multipliers", 5);
  for (size_t i = 0; i < 5; ++i) out.scales[i] = all * parts[i];
  return out;
}

/// Attention and scan of the same normed input, added.
void set_mixer(PreNormSpec& spec, const Mamba2Block& scan, const Factors& f) {
  const ModelInfo info = spec.config.info;
  AttentionBlock attention{"", 0, info.d_model, info.n_heads, info.n_kv_heads, info.head_dim};
  attention.qkv_bias = attention.o_bias = spec.qkv_bias;
  attention.scale = f.key / std::sqrt(static_cast<float>(info.head_dim));  // of the keys or of the scores
  spec.attention = [scan, attention, f](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x,
                                        ValueId angles) {
    Mamba2Block own_scan = scan;
    own_scan.prefix = p + ".mamba";
    own_scan.layer = layer;
    AttentionBlock own = attention;
    own.prefix = p + ".self_attn";
    own.layer = layer;
    ValueId scanned = mamba2_block(b, own_scan, x);
    scanned = scaled(b, "scan_scale", scanned, f.ssm_out, DType::kF32);
    x = scaled(b, "attn_in_scale", x, f.attention_in, b.numerics().matmul_input);
    const ValueId attended =
        scaled(b, "attn_scale", attention_block(b, own, x, angles), f.attention_out, DType::kF32);
    return b.add("mixer_add", scanned, attended, DType::kF32);
  };
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .n_kv_heads = 8});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("hidden_act", Json("silu"));  // of the convolution and of the scan's gate too
  spec.qkv_bias = config.flag_or("attention_bias", false);
  const std::vector<float> mlp_factors = factors(config, "mlp_multipliers", 2);
  const Factors f{factor(config, "attention_in_multiplier"),
                  factor(config, "attention_out_multiplier"),
                  factor(config, "key_multiplier"),
                  factor(config, "ssm_out_multiplier"),
                  mlp_factors[0],
                  mlp_factors[1]};
  if (!(f.key > 0)) config.fail(unsupported("[model] \"key_multiplier\" must be above 0"));
  spec.embed_scale = factor(config, "embedding_multiplier");
  spec.logit_scale = factor(config, "lm_head_multiplier");
  spec.norms.before_mlp = "pre_ff_layernorm";
  spec.names.final_norm = "model.final_layernorm";
  const MlpBlock mlp{"", info.d_model, info.d_ff, spec.act, config.flag_or("mlp_bias", false)};
  spec.feed_forward = [mlp, f](GraphBuilder& b, const std::string& p, int32_t, ValueId x) {
    MlpBlock own = mlp;
    own.prefix = p + ".feed_forward";
    own.gate_scale = f.gate;
    return scaled(b, "mlp_scale", mlp_block(b, own, x), f.down, DType::kF32);
  };
  const Mamba2Block scan = read_scan(config, spec.config);
  set_mixer(spec, scan, f);
  // MLX multiplies some of the factors into the weights and keeps them in config.json too.
  const float products[] = {
      f.attention_in,   f.attention_out,  f.key,          f.ssm_out,      f.gate,         f.down,
      spec.embed_scale, spec.logit_scale, scan.scales[0], scan.scales[1], scan.scales[2], scan.scales[3],
      scan.scales[4]};
  const bool all_one =
      std::all_of(std::begin(products), std::end(products), [](float x) { return x == 1.0f; });
  if (config.flag_or(kMlxLayoutKey, false) && !all_one)
    config.fail(
        unsupported("[model] a checkpoint in MLX's layout whose config.json has factors other than 1 "
                    "(embedding_multiplier and others): they may be in its weights already; use the original "
                    "checkpoint"));
  // A width that mamba_d_ssm overrules, and what only training or other programs use.
  config.ignore({"num_logits_to_keep", "mamba_use_mlp", "layer_types", "layers_block_type"});
  return finish_pre_norm(config, policy, std::move(spec), rope_parameters(config), 10000.0);
}

constexpr std::string_view kTypes[] = {"falcon_h1"};

/// Converters multiply the factors into the weights. The norm, where there is one, comes after the gate.
Status adjust(const Json& metadata, Json& config) {
  config.set("mamba_norm_before_gate", Json(false));
  if (const Json* inner = metadata.find("falcon-h1.ssm.inner_size")) config.set("mamba_d_ssm", *inner);
  return adjust_mamba2(metadata, "mamba_d_head", "", config, true);
}

constexpr GgufName kGgufTensors[] = {{"output_norm", "model.final_layernorm"},
                                     {"ffn_norm", "pre_ff_layernorm"},
                                     {"ffn_gate", "feed_forward.gate_proj"},
                                     {"ffn_up", "feed_forward.up_proj"},
                                     {"ffn_down", "feed_forward.down_proj"},
                                     {"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_dt.bias", "mamba.dt_bias"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_norm", "mamba.norm"},
                                     {"ssm_out", "mamba.out_proj"}};
constexpr GgufName kGgufKeys[] = {{"ssm.time_step_rank", "mamba_n_heads"},
                                  {"ssm.group_count", "mamba_n_groups"},
                                  {"ssm.state_size", "mamba_d_state"},
                                  {"ssm.conv_kernel", "mamba_d_conv"},
                                  {"ssm.inner_size", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.ssm_conv1d.bias", "mamba_conv_bias"},
                                   {"blk.0.ssm_norm.weight", "mamba_rms_norm"}};

}  // namespace

extern const Family kFalconH1;
const Family kFalconH1{
    "falcon_h1",
    kTypes,
    "falcon-h1",
    GgufRows::kPlain,
    &parse,
    &adjust,
    {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .changes = kMamba2GgufChanges}};

}  // namespace skua
