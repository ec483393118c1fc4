// Gated delta layers: where their weights lie, their slots, their config keys.
#include "models/gated_delta_net.h"

#include "models/rope_scaling.h"

namespace skua {
namespace {

struct Projections {
  Linear q, k, v, z, a, b;
};

Projections projections_of(GraphBuilder& b, const GatedDeltaBlock& block) {
  const int64_t d = block.d_model, k = block.k_dim, v = block.v_dim;
  const int64_t n_k = block.n_k_heads, n_v = block.n_v_heads;
  const auto part = [&](const char* name, int64_t rows, int64_t first, int64_t n, int64_t stride) {
    return Linear{b.part({block.prefix + "." + name + ".weight", rows, first, n, stride}, d), std::nullopt};
  };
  const auto ba = [&](int64_t first) {
    return part("in_proj_ba", 2 * n_v, first, n_v / n_k, 2 * (n_v / n_k));
  };
  if (block.projections == DeltaProjections::kPerKeyHead) {
    const int64_t per_head = n_v / n_k;
    const int64_t wide = 2 * k + 2 * per_head * v;
    const auto qkvz = [&](int64_t first, int64_t n) {
      return part("in_proj_qkvz", n_k * wide, first, n, wide);
    };
    return {qkvz(0, k),   qkvz(k, k), qkvz(2 * k, per_head * v), qkvz(2 * k + per_head * v, per_head * v),
            ba(per_head), ba(0)};
  }
  const int64_t rows = 2 * n_k * k + n_v * v;
  const auto qkv = [&](int64_t first, int64_t n) { return part("in_proj_qkv", rows, first, n, rows); };
  const auto whole = [&](const char* name, int64_t n) {
    return Linear{b.weight(block.prefix + "." + name + ".weight", n, d), std::nullopt};
  };
  Projections out{
      qkv(0, n_k * k), qkv(n_k * k, n_k * k), qkv(2 * n_k * k, n_v * v), whole("in_proj_z", n_v * v), {}, {}};
  if (block.projections == DeltaProjections::kQkvInTurn) {
    out.a = ba(n_v / n_k);
    out.b = ba(0);
  } else {
    out.a = whole("in_proj_a", n_v);
    out.b = whole("in_proj_b", n_v);
  }
  return out;
}

/// silu(conv(linear(x))), for channels [first, first + n) of the layer's convolution.
ValueId mixed(GraphBuilder& b, const GatedDeltaBlock& block, const char* label, const Linear& linear,
              int64_t first, int64_t n, ValueId x) {
  const DType kept = b.numerics().kv;
  const int64_t channels =
      2 * int64_t{block.n_k_heads} * block.k_dim + int64_t{block.n_v_heads} * block.v_dim;
  const ValueId raw = b.linear(label, x, linear, kept);
  CausalConv conv;
  conv.slot = b.slot(
      {.kind = SlotKind::kConv, .layer = block.layer, .window = block.taps, .storage = kept, .row = n});
  conv.weight = b.conv_weight(block.prefix + ".conv1d.weight", channels, block.taps, first, n);
  conv.then = CausalConv::Then::kSilu;
  return b.causal_conv(std::string(label) + "_conv", raw, conv, DType::kF32);
}

/// True for gated delta layers: layer_types, or all but every `full_attention_interval`-th.
std::vector<char> read_delta_layers(ConfigReader& config, int32_t n_layers) {
  std::vector<char> out;
  const int32_t interval = config.count_or("full_attention_interval", 4);
  for (int32_t layer = 0; layer < n_layers; ++layer) out.push_back((layer + 1) % interval != 0 ? 1 : 0);
  const Json* types = config.raw("layer_types");
  if (types == nullptr) return out;
  if (!types->is_array() || types->size() != out.size()) {
    config.fail(invalid_argument("[model] config.json: layer_types must name every layer"));
    return out;
  }
  for (size_t layer = 0; layer < out.size(); ++layer) {
    const Json& type = types->items()[layer];
    if (type != Json("linear_attention") && type != Json("full_attention")) {
      config.fail(unsupported("[model] config.json: layer_types holds layer type " + type.dump() +
                              " is not known; known are linear_attention, full_attention"));
    }
    out[layer] = type == Json("linear_attention") ? 1 : 0;
  }
  return out;
}

}  // namespace

ValueId gated_delta_block(GraphBuilder& b, const GatedDeltaBlock& block, ValueId x) {
  const int64_t k = int64_t{block.n_k_heads} * block.k_dim, v = int64_t{block.n_v_heads} * block.v_dim;
  const std::string& p = block.prefix;
  const Projections weights = projections_of(b, block);
  const ValueId query = mixed(b, block, "q", weights.q, 0, k, x);
  const ValueId key = mixed(b, block, "k", weights.k, k, k, x);
  const ValueId value = mixed(b, block, "v", weights.v, 2 * k, v, x);
  GatedDelta delta;
  delta.n_k_heads = block.n_k_heads;
  delta.n_v_heads = block.n_v_heads;
  delta.k_dim = block.k_dim;
  delta.v_dim = block.v_dim;
  delta.tiled = block.tiled;
  delta.slot = b.slot(delta_slot(delta, block.layer));
  delta.a_log = b.vector(p + ".A_log", block.n_v_heads);
  delta.dt_bias = b.vector(p + ".dt_bias", block.n_v_heads);
  const ValueId a = b.linear("a", x, weights.a, DType::kF32),
                strength = b.linear("b", x, weights.b, DType::kF32);
  const ValueId y = b.gated_delta("delta", {query, key, value, a, strength}, delta, DType::kF32);
  const ValueId normed = b.rms_norm(
      "norm", y, {b.vector(p + ".norm.weight", block.v_dim), block.eps, 0.0f, block.n_v_heads}, DType::kF32);
  const ValueId gate = b.linear("z", x, weights.z, DType::kF32);
  const ValueId gated = b.act_mul("gated", gate, normed, Act::kSilu, b.numerics().matmul_input);
  return b.linear("out", gated, {b.weight(p + ".out_proj.weight", block.d_model, v), std::nullopt},
                  DType::kF32);
}

void read_gated_delta(ConfigReader& config, DeltaProjections projections, PreNormSpec& spec) {
  const bool dense = config.text_or("model_type", "") == "qwen3_5_text";
  spec.config = read_decoder_config(config, {.head_dim = 256, .n_kv_heads = dense ? 4 : 2});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("hidden_act", Json("silu"));  // of the convolutions too
  const float offset = config.flag_or(kMlxLayoutKey, false) ? 0.0f : 1.0f;
  spec.norm_offset = offset;
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  spec.adjust_attention = [eps = spec.config.eps, offset](AttentionBlock& block) {
    block.qk_norm = RmsNorm{std::nullopt, eps, offset, 1};
    block.gate_name = block.q_name;
  };
  config.must_be("attn_output_gate", Json(true));
  config.must_be("use_sliding_window", Json(false));
  config.must_be("mamba_ssm_dtype", Json("float32"));
  config.ignore({"sliding_window", "max_window_layers"});  // of windows that are not used
  config.ignore({"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"});
  spec.ignorable.push_back({"mtp.*", "predicts further tokens; not used"});
  GatedDeltaBlock delta;
  delta.d_model = info.d_model;
  delta.n_k_heads = config.count_or("linear_num_key_heads", 16);
  delta.n_v_heads = config.count_or("linear_num_value_heads", 32);
  delta.k_dim = config.count_or("linear_key_head_dim", 128);
  delta.v_dim = config.count_or("linear_value_head_dim", 128);
  delta.taps = config.count_or("linear_conv_kernel_dim", 4);
  delta.eps = spec.config.eps;
  delta.projections = projections;
  delta.tiled = config.flag_or(kTiledHeadsKey, false);
  if (delta.n_v_heads % delta.n_k_heads != 0) {
    config.fail(
        invalid_argument("[model] config.json: linear_num_value_heads " + std::to_string(delta.n_v_heads) +
                         " is not a multiple of linear_num_key_heads " + std::to_string(delta.n_k_heads)));
  }
  const std::vector<char> delta_layers = read_delta_layers(config, info.n_layers);
  spec.mixer = [delta, delta_layers](GraphBuilder& b, const std::string& p, int32_t layer,
                                     ValueId x) -> std::optional<ValueId> {
    if (delta_layers[static_cast<size_t>(layer)] == 0) return std::nullopt;
    GatedDeltaBlock block = delta;
    block.prefix = p + ".linear_attn";
    block.layer = layer;
    return gated_delta_block(b, block, x);
  };
}

Status adjust_gated_delta(const Json& metadata, Json& config) {
  const Json* arch = metadata.find("general.architecture");
  const std::string name = arch != nullptr && arch->is_string() ? arch->as_string() : "?";
  const auto number = [](const Json* value) {
    return value != nullptr && value->kind() == Json::Kind::kInt ? value->as_int() : int64_t{0};
  };
  const int64_t inner = number(metadata.find(name + ".ssm.inner_size"));
  const int64_t heads = number(config.find("linear_num_value_heads"));
  if (inner < 1 || heads < 1 || inner % heads != 0) {
    return invalid_argument("[gguf] " + name + ".ssm.inner_size " + std::to_string(inner) +
                            " must be a multiple of ssm.time_step_rank " + std::to_string(heads));
  }
  config.set("linear_value_head_dim", Json(inner / heads));
  config.set(std::string(kMlxLayoutKey), Json(true));
  const Json* recurrent = metadata.find(name + ".attention.recurrent_layers");
  if (recurrent == nullptr) return ok_status();
  Json types = Json::array();
  for (const Json& layer : recurrent->items()) {
    if (static_cast<int64_t>(types.size()) == number(config.find("num_hidden_layers"))) break;
    types.push_back(Json(layer == Json(true) ? "linear_attention" : "full_attention"));
  }
  config.set("layer_types", std::move(types));
  return ok_status();
}

Json delta_rope_parameters(ConfigReader& config) {
  Json rope = rope_parameters(config);
  if (rope.find("partial_rotary_factor") == nullptr) rope.set("partial_rotary_factor", Json(0.25));
  return rope;
}

}  // namespace skua
