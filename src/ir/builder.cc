// The builder: names values, infers their types and keeps the first error.
#include "ir/builder.h"

namespace skua {

WeightId GraphBuilder::declare(WeightDecl decl) {
  if (decl.rows < 1 || decl.cols < 1) {
    fail(invalid_argument("[graph] weight " + decl.name + " has no elements"));
  }
  if (decl.zero_row && (*decl.zero_row < 0 || *decl.zero_row >= decl.rows || !decl.blocks.empty())) {
    fail(invalid_argument("[graph] " + print(decl) + " has no row " + std::to_string(*decl.zero_row)));
  }
  const auto found = weight_ids_.find(decl.name);
  if (found != weight_ids_.end()) {
    const WeightDecl& old = graph_.weight(found->second);
    if (old.rows != decl.rows || old.cols != decl.cols) {
      fail(invalid_argument("[graph] " + print(old) + " is also needed as [" + std::to_string(decl.rows) +
                            ", " + std::to_string(decl.cols) + "]"));
    }
    return found->second;
  }
  const WeightId id(static_cast<uint32_t>(graph_.weights.size()));
  weight_ids_.emplace(decl.name, id);
  graph_.weights.push_back(std::move(decl));
  return id;
}

WeightId GraphBuilder::weight(std::string name, int64_t rows, int64_t cols) {
  return declare({std::move(name), rows, cols});
}

WeightId GraphBuilder::part(const WeightSource& part, int64_t cols) {
  const bool transposed = part.transpose == Transpose::kYes;
  if (part.block < 1 || part.first < 0 || part.stride < part.first + part.block ||
      part.rows % part.stride != 0 || (transposed && part.stride != part.rows)) {
    fail(invalid_argument("[graph] " + part.tensor + " cannot be cut into parts of " +
                          std::to_string(part.block) + " of every " + std::to_string(part.stride) + " of " +
                          std::to_string(part.rows) + " rows"));
    return WeightId(0);
  }
  const bool vector = cols == 1;
  BlockSource source{{part.tensor}, part.rows / part.stride, part.stride, cols, part.first};
  if (vector || transposed) {
    source.block_rows = cols;
    source.block_cols = part.stride;
    source.take = Take::kColumns;
  }
  const int64_t n = source.n_blocks * part.block;
  return declare({part.tensor + "[" + std::to_string(part.first) + "]",
                  vector ? 1 : n,
                  vector ? n : cols,
                  {std::move(source)},
                  std::nullopt});
}

WeightId GraphBuilder::conv_weight(const std::string& name, int64_t channels, int64_t taps, int64_t first,
                                   int64_t n) {
  BlockSource source{{name}, 1, channels, taps};
  source.take = Take::kColumns;
  source.skip = first;
  const bool whole = n == channels;
  return declare(
      {whole ? name : name + "[" + std::to_string(first) + "]", taps, n, {std::move(source)}, DType::kF32});
}

SlotId GraphBuilder::slot(CacheSlot slot) {
  const bool recurrent = slot.kind == SlotKind::kRecurrent, conv = slot.kind == SlotKind::kConv;
  const bool empty = recurrent ? slot.row < 1 || slot.n_blocks < 1 || slot.state < 1
                     : conv    ? slot.row < 1 || slot.window < 1
                               : slot.n_kv_heads < 1 || slot.k_dim < 1 || slot.v_dim < 1;
  if (empty) {
    fail(invalid_argument("[graph] layer " + std::to_string(slot.layer) + " has an empty cache slot"));
  }
  if (keeps_heads(slot) && numerics_.kv_cache) slot.storage = *numerics_.kv_cache;
  graph_.slots.push_back(slot);
  return SlotId(static_cast<uint32_t>(graph_.slots.size() - 1));
}

ValueId GraphBuilder::emit(std::string_view label, Op op, std::vector<ValueId> inputs, DType storage) {
  std::string full = scope_.empty() ? std::string(label) : scope_ + "." + std::string(label);
  std::vector<ValueType> types;
  if (status_.ok()) {
    auto inferred = infer_types(graph_, op, inputs, storage);
    if (inferred.ok())
      types = std::move(inferred).value();
    else
      fail(inferred.status().with_context(full));
  }
  if (!status_.ok()) return ValueId(0);
  Node node{std::move(op), std::move(inputs), {}, full};
  for (const ValueType& type : types) {
    node.outputs.emplace_back(static_cast<uint32_t>(graph_.values.size()));
    graph_.values.push_back({full, type});
  }
  const ValueId first = node.outputs.empty() ? ValueId(0) : node.outputs[0];
  graph_.nodes.push_back(std::move(node));
  return first;
}

ValueId GraphBuilder::embed(WeightId table, float scale) {
  return emit("embed", Embed{table, scale}, {}, numerics_.residual);
}

ValueId GraphBuilder::embed(std::string_view label, Embed embed, DType storage) {
  return emit(label, embed, {}, storage);
}

ValueId GraphBuilder::layer_norm(std::string_view label, ValueId x, LayerNorm norm, DType storage) {
  return emit(label, norm, {x}, storage);
}

ValueId GraphBuilder::rms_norm(std::string_view label, ValueId x, RmsNorm norm, DType storage) {
  return emit(label, norm, {x}, storage);
}

ValueId GraphBuilder::linear(std::string_view label, ValueId x, Linear linear, DType storage) {
  return emit(label, linear, {x}, storage);
}

ValueId GraphBuilder::rope_angles(std::string_view label, RopeAngles angles) {
  return emit(label, std::move(angles), {}, DType::kF32);
}

ValueId GraphBuilder::rope(std::string_view label, ValueId x, ValueId angles, Rope rope, DType storage) {
  return emit(label, rope, {x, angles}, storage);
}

void GraphBuilder::kv_write(std::string_view label, ValueId k, ValueId v, SlotId slot) {
  emit(label, KvWrite{slot}, {k, v}, numerics_.kv);
}

ValueId GraphBuilder::attention(std::string_view label, ValueId q, Attention attention, DType storage) {
  return emit(label, attention, {q}, storage);
}

ValueId GraphBuilder::head_linear(std::string_view label, ValueId x, HeadLinear linear, DType storage) {
  return emit(label, linear, {x}, storage);
}

ValueId GraphBuilder::mla_attention(std::string_view label, ValueId q_latent, ValueId q_pe,
                                    MlaAttention attention, DType storage, std::optional<ValueId> chosen) {
  std::vector<ValueId> inputs{q_latent, q_pe};
  if (chosen) inputs.push_back(*chosen);
  return emit(label, attention, std::move(inputs), storage);
}

ValueId GraphBuilder::mla_fast_attention(std::string_view label, ValueId q_nope, ValueId q_pe,
                                         MlaFastAttention attention, DType storage) {
  return emit(label, attention, {q_nope, q_pe}, storage);
}

ValueId GraphBuilder::index_select(std::string_view label, std::vector<ValueId> inputs, IndexSelect select) {
  return emit(label, select, std::move(inputs), DType::kF32);
}

ValueId GraphBuilder::causal_conv(std::string_view label, ValueId x, CausalConv conv, DType storage) {
  return emit(label, conv, {x}, storage);
}

ValueId GraphBuilder::ssm1(std::string_view label, std::vector<ValueId> inputs, Ssm1 ssm, DType storage) {
  return emit(label, ssm, std::move(inputs), storage);
}

ValueId GraphBuilder::gated_delta(std::string_view label, std::vector<ValueId> inputs, GatedDelta delta,
                                  DType storage) {
  return emit(label, delta, std::move(inputs), storage);
}

ValueId GraphBuilder::ssm2(std::string_view label, ValueId xbc, ValueId dt, Ssm2 ssm, DType storage) {
  return emit(label, ssm, {xbc, dt}, storage);
}

ValueId GraphBuilder::moe_router(std::string_view label, ValueId x, MoeRouter router) {
  return emit(label, router, {x}, DType::kF32);
}

ValueId GraphBuilder::moe_experts(std::string_view label, ValueId x, ValueId routing, MoeExperts experts,
                                  DType storage) {
  return emit(label, experts, {x, routing}, storage);
}

ValueId GraphBuilder::act_mul(std::string_view label, ValueId gate, ValueId up, Act act, DType storage) {
  return emit(label, ActMul{act}, {gate, up}, storage);
}

ValueId GraphBuilder::activate(std::string_view label, ValueId x, Act act, DType storage) {
  return emit(label, Activate{act}, {x}, storage);
}

ValueId GraphBuilder::xielu(std::string_view label, ValueId x, XIelu xielu, DType storage) {
  return emit(label, xielu, {x}, storage);
}

ValueId GraphBuilder::mul(std::string_view label, ValueId a, ValueId b, DType storage) {
  return emit(label, Mul{}, {a, b}, storage);
}

ValueId GraphBuilder::scale_by(std::string_view label, ValueId x, WeightId weight, DType storage) {
  return emit(label, ScaleBy{weight}, {x}, storage);
}

ValueId GraphBuilder::scale_columns(std::string_view label, ValueId x, ScaleColumns scale, DType storage) {
  return emit(label, std::move(scale), {x}, storage);
}

ValueId GraphBuilder::slice(std::string_view label, ValueId x, Slice slice, DType storage) {
  return emit(label, slice, {x}, storage);
}

ValueId GraphBuilder::weighted_sum(std::string_view label, ValueId coefficients, std::vector<ValueId> streams,
                                   WeightedSum sum, DType storage) {
  streams.insert(streams.begin(), coefficients);
  return emit(label, sum, std::move(streams), storage);
}

ValueId GraphBuilder::cutoff(std::string_view label, ValueId x, float multiplier, DType storage) {
  return emit(label, Cutoff{multiplier}, {x}, storage);
}

ValueId GraphBuilder::match_magnitude(std::string_view label, ValueId x, ValueId like, MatchMagnitude match,
                                      DType storage) {
  return emit(label, match, {x, like}, storage);
}

ValueId GraphBuilder::position_scale(std::string_view label, ValueId x, PositionScale scale, DType storage) {
  return emit(label, std::move(scale), {x}, storage);
}

ValueId GraphBuilder::add(std::string_view label, ValueId a, ValueId b, DType storage) {
  return emit(label, Add{}, {a, b}, storage);
}

ValueId GraphBuilder::scale(std::string_view label, ValueId x, float factor, DType storage) {
  return emit(label, Scale{factor}, {x}, storage);
}

ValueId GraphBuilder::softcap(std::string_view label, ValueId x, float cap, DType storage) {
  return emit(label, Softcap{cap}, {x}, storage);
}

ValueId GraphBuilder::gather_rows(ValueId x) {
  if (!status_.ok()) return ValueId(0);
  return emit("rows", GatherRows{}, {x}, graph_.value(x).type.storage);
}

void GraphBuilder::fail(Status status) {
  if (status_.ok() && !status.ok()) status_ = std::move(status);
}

Result<Graph> GraphBuilder::finish(ValueId logits) {
  SKUA_RETURN_IF_ERROR(status_);
  graph_.output = logits;
  SKUA_RETURN_IF_ERROR(validate(graph_));
  return std::move(graph_);
}

}  // namespace skua
