// Attention, gated MLP and output head as most decoder families have them.
#include "models/blocks.h"

#include <algorithm>
#include <cmath>

namespace skua {
namespace {

Linear projection(GraphBuilder& b, const std::string& name, int64_t out, int64_t in, bool bias,
                  Transpose transpose = Transpose::kNo) {
  Linear linear;
  if (transpose == Transpose::kYes) {
    linear.weight = b.part({name + ".weight", out, 0, out, out, Transpose::kYes}, in);
  } else {
    linear.weight = b.weight(name + ".weight", out, in);
  }
  if (bias) linear.bias = b.vector(name + ".bias", out);
  return linear;
}

/// Rows [first, first + block) of every `stride` of the `rows` rows of a projection, with its bias.
Linear projection_part(GraphBuilder& b, WeightSource source, int64_t in, bool bias) {
  const std::string name = source.tensor;
  Linear linear;
  source.tensor = name + ".weight";
  linear.weight = b.part(source, in);
  source.tensor = name + ".bias";
  source.transpose = Transpose::kNo;
  if (bias) linear.bias = b.part(source, 1);
  return linear;
}

/// Half of a query projection that holds queries (0) and gates (1) head by head.
Linear query_half(GraphBuilder& b, const AttentionBlock& block, int64_t half) {
  const int64_t d = block.head_dim;
  return projection_part(b, {block.prefix + "." + block.q_name, 2 * d * block.n_heads, half * d, d, 2 * d},
                         block.d_model, block.qkv_bias);
}

struct Qkv {
  Linear q, k;
  std::optional<Linear> v;  // empty: values are made of the keys
};

Qkv qkv_projections(GraphBuilder& b, const AttentionBlock& block) {
  const int64_t q_dim = int64_t{block.n_heads} * block.head_dim;
  const int64_t kv_dim = int64_t{block.n_kv_heads} * block.head_dim;
  if (block.qkv_name.empty()) {
    const auto of = [&](const std::string& name, int64_t out) {
      return projection(b, block.prefix + "." + name, out, block.d_model, block.qkv_bias, block.transpose);
    };
    const bool halved = block.gate_name == block.q_name;
    Qkv out{halved ? query_half(b, block, 0) : of(block.q_name, q_dim), of(block.k_name, kv_dim),
            std::nullopt};
    if (block.values == Values::kProjected) out.v = of(block.v_name, kv_dim);
    return out;
  }
  const int64_t rows = q_dim + 2 * kv_dim;
  const auto of = [&](int64_t first, int64_t n, int64_t stride) {
    return projection_part(b, {block.prefix + "." + block.qkv_name, rows, first, n, stride, block.transpose},
                           block.d_model, block.qkv_bias);
  };
  if (block.fused_rows == FusedRows::kInTurn) {
    return {of(0, q_dim, rows), of(q_dim, kv_dim, rows), of(q_dim + kv_dim, kv_dim, rows)};
  }
  const int64_t d = block.head_dim;
  return {of(0, d, 3 * d), of(d, d, 3 * d), of(2 * d, d, 3 * d)};
}

/// One vector of all heads' own weights.
WeightId weights_of_heads(GraphBuilder& b, const AttentionBlock& block, const std::string& name,
                          int32_t n_heads) {
  const BlockSource stacked{{name + ".weight"}, n_heads, 1, block.head_dim, 0, 1, Take::kColumns};
  WeightDecl decl{name + ".weight", 1, int64_t{n_heads} * block.head_dim, {stacked}};
  if (block.qk_norm_over == QkNormOver::kEachHeadApart) {
    BlockSource apart = stacked;
    apart.tensors.clear();
    for (int32_t head = 0; head < n_heads; ++head)
      apart.tensors.push_back(name + ".norms." + std::to_string(head) + ".weight");
    decl.blocks.insert(decl.blocks.begin(), apart);
  }
  return b.weight(std::move(decl));
}

ValueId norm_heads(GraphBuilder& b, const AttentionBlock& block, const std::string& label,
                   const std::string& name, int32_t n_heads, ValueId x, DType storage) {
  RmsNorm norm = *block.qk_norm;
  const bool whole = block.qk_norm_over == QkNormOver::kAllHeads;
  norm.n_groups = whole ? 1 : n_heads;
  norm.weight = std::nullopt;
  const std::string full = block.prefix + "." + name;
  const int64_t size = int64_t{whole ? n_heads : 1} * block.head_dim;
  if (!name.empty()) {
    const bool own = block.qk_norm_over != QkNormOver::kHead && !whole;
    norm.weight = own ? weights_of_heads(b, block, full, n_heads) : b.vector(full + ".weight", size);
  }
  if (block.qk_norm_kind == Norm::Kind::kRms) return b.rms_norm(label, x, norm, storage);
  std::optional<WeightId> bias;
  if (block.qk_norm_bias) bias = b.vector(full + ".bias", size);
  return b.layer_norm(label, x, {norm.weight, bias, norm.eps, norm.n_groups}, storage);
}

/// Norm (if any) and rotation (if any) of q or k; the last of them rounds to what the cache stores.
ValueId rotate(GraphBuilder& b, const AttentionBlock& block, const std::string& label,
               const std::string& norm_name, int32_t n_heads, ValueId x, std::optional<ValueId> angles) {
  const DType kv = b.numerics().kv;
  const bool rotates = block.rotation == Rotation::kRope && angles.has_value();
  const bool before = block.qk_norm && (block.qk_norm_at == QkNormAt::kBeforeRope || !rotates);
  const bool after = block.qk_norm && !before;
  if (before) x = norm_heads(b, block, label + "_norm", norm_name, n_heads, x, rotates ? DType::kF32 : kv);
  if (rotates) {
    x = b.rope(label + "_rope", x, *angles, {n_heads, block.head_dim, block.rope_style},
               after ? DType::kF32 : kv);
  }
  if (after) x = norm_heads(b, block, label + "_norm", norm_name, n_heads, x, kv);
  return x;
}

/// Keys and values of this step's tokens go into the slot.
void write_kv(GraphBuilder& b, const AttentionBlock& block, ValueId x, const Qkv& weights, SlotId slot,
              DType raw, std::optional<ValueId> angles) {
  const DType kv = b.numerics().kv;
  ValueId k = b.linear("k", x, weights.k, raw);
  ValueId v = k;
  if (weights.v) v = b.linear("v", x, *weights.v, block.v_norm_eps ? DType::kF32 : kv);
  if (block.v_norm_eps)
    v = b.rms_norm("v_norm", v, {std::nullopt, *block.v_norm_eps, 0.0f, block.n_kv_heads}, kv);
  k = rotate(b, block, "k", block.k_norm_name, block.n_kv_heads, k, angles);
  b.kv_write("kv", k, v, slot);
}

}  // namespace

SlotId attention_slot(GraphBuilder& b, const AttentionBlock& block) {
  const int32_t kept = block.window > 0 && block.chunk > 0 ? std::min(block.window, block.chunk)
                                                           : std::max(block.window, block.chunk);
  return b.slot({kept > 0 ? SlotKind::kWindow : SlotKind::kFull, block.layer, block.n_kv_heads,
                 block.head_dim, block.head_dim, kept, b.numerics().kv});
}

ValueId stored_as(GraphBuilder& b, std::string_view label, ValueId x, DType from, DType storage) {
  return from == storage ? x : b.scale(label, x, 1.0f, storage);
}

ValueId norm_block(GraphBuilder& b, std::string_view label, const Norm& norm, const std::string& prefix,
                   int64_t width, ValueId x, DType storage) {
  std::optional<WeightId> weight, bias;
  if (norm.vectors != Norm::Vectors::kNone) weight = b.vector(prefix + ".weight", width);
  if (norm.vectors == Norm::Vectors::kWeightAndBias) bias = b.vector(prefix + ".bias", width);
  if (norm.kind == Norm::Kind::kLayer) return b.layer_norm(label, x, {weight, bias, norm.eps, 1}, storage);
  return b.rms_norm(label, x, {weight, norm.eps, norm.weight_offset, 1}, storage);
}

ValueId attention_block(GraphBuilder& b, const AttentionBlock& block, ValueId x,
                        std::optional<ValueId> angles) {
  const int64_t q_dim = int64_t{block.n_heads} * block.head_dim;
  const DType kv = b.numerics().kv;
  const SlotId slot = block.slot ? *block.slot : attention_slot(b, block);
  const bool moved = block.qk_norm || (block.rotation == Rotation::kRope && angles.has_value());
  const DType raw = moved ? DType::kF32 : kv;
  ValueId q;
  if (block.keys == Keys::kShared) {
    q = b.linear("q", x,
                 projection(b, block.prefix + "." + block.q_name, q_dim, block.d_model, block.qkv_bias), raw);
  } else {
    const Qkv weights = qkv_projections(b, block);
    q = b.linear("q", x, weights.q, raw);
    write_kv(b, block, x, weights, slot, raw, angles);
  }
  q = rotate(b, block, "q", block.q_norm_name, block.n_heads, q, angles);
  if (block.query_scale) q = b.position_scale("q_scale", q, *block.query_scale, kv);
  const float scale = block.scale > 0
                          ? block.scale
                          : static_cast<float>(1.0 / std::sqrt(static_cast<double>(block.head_dim)));
  const DType input = b.numerics().matmul_input;
  const bool gated = !block.gate_name.empty();
  Attention attend{slot, block.n_heads, scale, block.window, block.softcap, block.chunk};
  if (!block.sinks_name.empty())
    attend.sinks = b.vector(block.prefix + "." + block.sinks_name, block.n_heads);
  ValueId mixed = b.attention("attend", q, attend, gated ? DType::kF32 : input);
  if (gated) {
    const Linear weights =
        block.gate_name == block.q_name
            ? query_half(b, block, 1)
            : projection(b, block.prefix + "." + block.gate_name, q_dim, block.d_model, false);
    const ValueId gate = b.linear("attend_gate", x, weights, DType::kF32);
    mixed = b.act_mul("attend_gated", gate, mixed, Act::kSigmoid, input);
  }
  return b.linear(
      "o", mixed,
      projection(b, block.prefix + "." + block.o_name, block.d_model, q_dim, block.o_bias, block.transpose),
      DType::kF32);
}

ValueId mlp_block(GraphBuilder& b, const MlpBlock& block, ValueId x) {
  const std::string& p = block.prefix;
  const auto half = [&](int64_t index) {
    return projection_part(b,
                           {p + "." + block.gate_up_name, 2 * int64_t{block.d_ff}, index * block.d_ff,
                            block.d_ff, 2 * int64_t{block.d_ff}},
                           block.d_model, block.bias);
  };
  const bool fused = !block.gate_up_name.empty();
  const auto weights = [&](const std::string& name, int64_t index) {
    return fused ? half(index) : projection(b, p + "." + name, block.d_ff, block.d_model, block.bias);
  };
  ValueId gate = b.linear("gate", x, weights(block.gate_name, 0), DType::kF32);
  if (block.gate_scale != 1.0f) gate = b.scale("gate_scale", gate, block.gate_scale, DType::kF32);
  const ValueId up = b.linear("up", x, weights(block.up_name, 1), DType::kF32);
  const ValueId hidden = b.act_mul("act", gate, up, block.act, b.numerics().matmul_input);
  return b.linear("down", hidden,
                  projection(b, p + "." + block.down_name, block.d_model, block.d_ff, block.bias),
                  DType::kF32);
}

ValueId plain_mlp_block(GraphBuilder& b, const PlainMlpBlock& block, ValueId x) {
  const ValueId up = b.linear(
      "up", x, projection(b, block.up, block.d_ff, block.d_model, block.bias, block.transpose), DType::kF32);
  const ValueId hidden = b.activate("act", up, block.act, b.numerics().matmul_input);
  return b.linear("down", hidden,
                  projection(b, block.down, block.d_model, block.d_ff, block.bias, block.transpose),
                  DType::kF32);
}

ValueId head_block(GraphBuilder& b, const HeadBlock& block, ValueId x) {
  const ValueId rows = b.gather_rows(x);
  const DType storage = b.numerics().logits;
  Linear head{
      b.weight((block.tied ? block.embed_name : block.head_name) + ".weight", block.n_vocab, block.d_model),
      std::nullopt};
  if (block.bias) head.bias = b.vector(block.head_name + ".bias", block.n_vocab);
  ValueId logits = b.linear("logits", rows, head, storage);
  if (block.scale != 1.0f) logits = b.scale("logit_scale", logits, block.scale, storage);
  return block.softcap > 0 ? b.softcap("softcap", logits, block.softcap, storage) : logits;
}

Act read_act(ConfigReader& config, std::string_view key, std::string_view fallback) {
  const std::string name = config.text_or(key, fallback);
  if (name == "silu" || name == "swish") return Act::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") return Act::kGeluTanh;
  if (name == "gelu") return Act::kGeluErf;
  if (name == "relu") return Act::kRelu;
  if (name == "relu2") return Act::kRelu2;
  config.fail(unsupported("[model] \"" + std::string(key) + "\" is \"" + name +
                          "\"; known are silu, gelu, gelu_new, gelu_pytorch_tanh, relu, relu2"));
  return Act::kSilu;
}

std::vector<IgnorableTensor> common_ignorable(bool tied) {
  std::vector<IgnorableTensor> out{{"*.rotary_emb.inv_freq", "recomputed from the config"}};
  if (tied) out.push_back({"lm_head.weight", "tied to the embedding"});
  return out;
}

}  // namespace skua
