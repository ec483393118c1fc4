// The builder: names values, infers their types and keeps the first error.
#include "ir/builder.h"

namespace skua {

WeightId GraphBuilder::weight(std::string name, int64_t rows, int64_t cols) {
  if (rows < 1 || cols < 1) fail(invalid_argument("[graph] weight " + name + " has no elements"));
  const auto found = weight_ids_.find(name);
  if (found != weight_ids_.end()) {
    const WeightDecl& old = graph_.weight(found->second);
    if (old.rows != rows || old.cols != cols) {
      fail(invalid_argument("[graph] " + print(old) + " is also needed as [" + std::to_string(rows) + ", " +
                            std::to_string(cols) + "]"));
    }
    return found->second;
  }
  const WeightId id(static_cast<uint32_t>(graph_.weights.size()));
  weight_ids_.emplace(name, id);
  graph_.weights.push_back({std::move(name), rows, cols});
  return id;
}

SlotId GraphBuilder::slot(CacheSlot slot) {
  if (slot.n_kv_heads < 1 || slot.k_dim < 1 || slot.v_dim < 1) {
    fail(invalid_argument("[graph] layer " + std::to_string(slot.layer) + " has an empty cache slot"));
  }
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

ValueId GraphBuilder::act_mul(std::string_view label, ValueId gate, ValueId up, Act act, DType storage) {
  return emit(label, ActMul{act}, {gate, up}, storage);
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
