// The mixer's graph, and what configs say of it. Sources: arXiv:2405.21060; transformers modeling_mamba2.py.
#include "models/mamba.h"

#include <algorithm>

namespace skua {
namespace {

/// Rows [first, first + n) of in_proj.
Linear in_part(GraphBuilder& b, const Mamba2Block& block, int64_t rows, int64_t first, int64_t n) {
  Linear out;
  out.weight = b.part({block.prefix + ".in_proj.weight", rows, first, n, rows}, block.d_model);
  if (block.in_bias) out.bias = b.part({block.prefix + ".in_proj.bias", rows, first, n, rows}, 1);
  return out;
}

ValueId scaled(GraphBuilder& b, std::string_view label, ValueId x, float factor) {
  return factor == 1.0f ? x : b.scale(label, x, factor, DType::kF32);
}

/// y with the gate z, normed as the family wants.
ValueId gated(GraphBuilder& b, const Mamba2Block& block, int64_t d_inner, ValueId z, ValueId y) {
  const DType storage = b.numerics().matmul_input;
  if (block.gate == MambaGate::kAlone) return b.act_mul("gated", z, y, Act::kSilu, storage);
  const RmsNorm norm{b.vector(block.prefix + ".norm.weight", d_inner), block.eps, 0.0f, block.norm_groups};
  if (block.gate == MambaGate::kThenNorm) {
    return b.rms_norm("gate_norm", b.act_mul("gated", z, y, Act::kSilu, DType::kF32), norm, storage);
  }
  return b.act_mul("gated", z, b.rms_norm("gate_norm", y, norm, DType::kF32), Act::kSilu, storage);
}

/// One limit of time_step_limit: a number, or infinity as JSON writers spell it.
double limit(ConfigReader& config, const Json& value) {
  const Json* spelled = value.find("__float__");
  const Json& v = spelled != nullptr ? *spelled : value;
  if (v.is_number()) return v.as_double();
  if (v == Json("Infinity")) return std::numeric_limits<double>::infinity();
  config.fail(invalid_argument("[model] config.json: time_step_limit holds " + v.dump().substr(0, 80) +
                               "; two numbers are needed"));
  return 0.0;
}

}  // namespace

ValueId mamba2_block(GraphBuilder& b, const Mamba2Block& block, ValueId x) {
  const int64_t d_inner = int64_t{block.n_heads} * block.head_dim;
  const int64_t bc = int64_t{block.n_groups} * block.state_dim, d_conv = d_inner + 2 * bc;
  const int64_t rows = d_inner + d_conv + block.n_heads;
  ValueId z = b.linear("z", x, in_part(b, block, rows, 0, d_inner), DType::kF32);
  ValueId xbc = b.linear("xbc", x, in_part(b, block, rows, d_inner, d_conv), DType::kF32);
  ValueId dt = b.linear("dt", x, in_part(b, block, rows, d_inner + d_conv, block.n_heads), DType::kF32);
  z = scaled(b, "z_scale", z, block.scales[0]);
  dt = scaled(b, "dt_scale", dt, block.scales[4]);
  if (block.scales[1] != 1.0f || block.scales[2] != 1.0f || block.scales[3] != 1.0f) {
    ScaleColumns scales;
    for (int part = 0; part < 3; ++part)
      scales.factors.insert(scales.factors.end(), static_cast<size_t>(part == 0 ? d_inner : bc),
                            block.scales[static_cast<size_t>(part) + 1]);
    xbc = b.scale_columns("xbc_scale", xbc, std::move(scales), DType::kF32);
  }

  CacheSlot conv_slot;
  conv_slot.kind = SlotKind::kConv;
  conv_slot.layer = block.layer;
  conv_slot.window = block.n_taps;
  conv_slot.row = d_conv;
  CausalConv conv{b.slot(conv_slot), b.conv_weight(block.prefix + ".conv1d.weight", d_conv, block.n_taps),
                  std::nullopt, CausalConv::Then::kSilu};
  if (block.conv_bias) conv.bias = b.vector(block.prefix + ".conv1d.bias", d_conv);
  xbc = b.causal_conv("conv", xbc, conv, DType::kF32);

  CacheSlot state;
  state.kind = SlotKind::kRecurrent;
  state.layer = block.layer;
  state.row = d_inner + bc + block.n_heads;
  state.n_blocks = block.n_heads;
  state.state = int64_t{block.state_dim} * block.head_dim;
  Ssm2 ssm;
  ssm.slot = b.slot(state);
  ssm.a_log = b.vector(block.prefix + ".A_log", block.n_heads);
  ssm.d = b.vector(block.prefix + ".D", block.n_heads);
  ssm.dt_bias = b.vector(block.prefix + ".dt_bias", block.n_heads);
  ssm.n_heads = block.n_heads;
  ssm.head_dim = block.head_dim;
  ssm.n_groups = block.n_groups;
  ssm.state_dim = block.state_dim;
  ssm.dt_min = block.dt_min;
  ssm.dt_max = block.dt_max;
  const ValueId y = b.ssm2("scan", xbc, dt, ssm, DType::kF32);
  Linear out{b.weight(block.prefix + ".out_proj.weight", block.d_model, d_inner), std::nullopt};
  if (block.out_bias) out.bias = b.vector(block.prefix + ".out_proj.bias", block.d_model);
  return b.linear("out", gated(b, block, d_inner, z, y), out, DType::kF32);
}

Mamba2Block read_mamba2(ConfigReader& config, int32_t d_model, int32_t d_inner, const MambaKeys& keys) {
  Mamba2Block out;
  out.d_model = d_model;
  out.n_heads = config.count(keys.n_heads, 65536);
  const Json* head_dim = config.raw(keys.head_dim);
  out.head_dim = head_dim == nullptr || *head_dim == Json("auto") ? std::max(1, d_inner / out.n_heads)
                                                                  : config.count(keys.head_dim, 65536);
  out.n_groups = config.count(keys.n_groups, 65536);
  out.state_dim = config.count(keys.state_dim, 65536);
  out.n_taps = config.count_or(keys.n_taps, 4);
  out.conv_bias = config.flag_or(keys.conv_bias, true);
  config.ignore({keys.chunk});  // the order of additions is ours
  if (int64_t{out.n_heads} * out.head_dim != d_inner) {
    config.fail(invalid_argument("[model] config.json: " + std::to_string(out.n_heads) + " mamba heads of " +
                                 std::to_string(out.head_dim) + " do not make an inner width of " +
                                 std::to_string(d_inner)));
  }
  if (const Json* limits = config.raw("time_step_limit")) {
    if (limits->is_array() && limits->size() == 2) {
      out.dt_min = static_cast<float>(limit(config, limits->items()[0]));
      out.dt_max = static_cast<float>(limit(config, limits->items()[1]));
    } else {
      config.fail(invalid_argument("[model] config.json: time_step_limit must hold two numbers"));
    }
  }
  return out;
}

std::vector<char> read_recurrent_layers(ConfigReader& config, std::string_view key, int32_t n_layers) {
  std::vector<char> out(static_cast<size_t>(n_layers), 1);
  const Json* types = config.raw(key);
  if (types == nullptr) return out;
  if (!types->is_array() || types->size() != out.size()) {
    config.fail(invalid_argument("[model] config.json: " + std::string(key) + " must name every layer"));
    return out;
  }
  for (size_t layer = 0; layer < out.size(); ++layer) {
    const Json& type = types->items()[layer];
    const bool attends = type == Json("full_attention") || type == Json("attention");
    if (!attends && type != Json("linear_attention") && type != Json("mamba")) {
      config.fail(unsupported("[model] config.json: " + std::string(key) + " holds " + type.dump() +
                              "; known are linear_attention, mamba, full_attention, attention"));
    }
    out[layer] = attends ? 0 : 1;
  }
  return out;
}

}  // namespace skua
