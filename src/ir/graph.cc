// Checks and prints graphs.
#include "ir/graph.h"

#include <algorithm>
#include <sstream>

namespace skua {
namespace {

Status at_node(const Node& node, const Status& status) {
  return status.with_context(node.label + " (" + std::string(op_name(node.op)) + ")");
}

std::string_view lead_name(Lead lead) { return lead == Lead::kTokens ? "n_tokens" : "n_rows"; }

void print_type(std::ostream& out, const Value& value) {
  out << value.name << '[' << lead_name(value.type.lead) << ", " << value.type.width << "] "
      << dtype_name(value.type.storage);
}

bool writes_slot(const Op& op) {
  return std::holds_alternative<KvWrite>(op) || std::holds_alternative<RopeKvWrite>(op) || scans_slot(op);
}

}  // namespace

RecurrentPage::RecurrentPage(const CacheSlot& slot) {
  constexpr int64_t kAlign = 16;  // states start at whole cache lines if pages do
  counts = kPageTokens * slot.row;
  states = counts + (slot.n_blocks + kAlign - 1) / kAlign * kAlign;
  end = (states + slot.n_blocks * slot.state + kAlign - 1) / kAlign * kAlign;
}

CacheSlot delta_slot(const GatedDelta& op, int32_t layer) {
  CacheSlot slot{.kind = SlotKind::kRecurrent, .layer = layer};
  slot.row = int64_t{op.n_k_heads} * op.k_dim + int64_t{op.n_v_heads} * (int64_t{op.v_dim} + 2);
  slot.n_blocks = op.n_v_heads;
  slot.state = int64_t{op.k_dim} * op.v_dim;
  return slot;
}

CacheSlot ssm1_slot(int64_t d_inner, int64_t d_state, int32_t layer) {
  CacheSlot slot{.kind = SlotKind::kRecurrent, .layer = layer};
  slot.row = 2 * d_inner + d_state;
  slot.n_blocks = static_cast<int32_t>((d_inner + kSsm1Channels - 1) / kSsm1Channels);
  slot.state = kSsm1Channels * d_state;
  return slot;
}

bool keeps_heads(const CacheSlot& slot) {
  return slot.kind == SlotKind::kFull || slot.kind == SlotKind::kWindow;
}

bool keeps_heads(const Graph& graph) {
  return std::any_of(graph.slots.begin(), graph.slots.end(),
                     [](const CacheSlot& slot) { return keeps_heads(slot); });
}

int64_t page_elements(const CacheSlot& slot) {
  switch (slot.kind) {
    case SlotKind::kConv:
      return kPageTokens * slot.row;
    case SlotKind::kRecurrent:
      return RecurrentPage(slot).end;
    case SlotKind::kFull:
    case SlotKind::kWindow:
    case SlotKind::kLatent:
      break;
  }
  return int64_t{kPageTokens} * slot.n_kv_heads * (slot.k_dim + slot.v_dim);
}

Status validate(const Graph& graph) {
  std::vector<char> made(graph.values.size(), 0);
  std::vector<char> written(graph.slots.size(), 0);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (id.value() >= made.size() || made[id.value()] == 0) {
        return at_node(node, internal_error("[graph] an input is used before it is made"));
      }
    }
    if (const auto slot = op_slot(node.op)) {
      if (writes_slot(node.op))
        written[slot->value()] = 1;
      else if (written[slot->value()] == 0) {
        return at_node(node, internal_error("[graph] a cache slot is read before it is written"));
      }
    }
    const auto types = infer_types(graph, node.op, node.inputs, DType::kF32);
    if (!types.ok()) return at_node(node, types.status());
    if (types->size() != node.outputs.size())
      return at_node(node, internal_error("[graph] wrong number of outputs"));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const uint32_t out = node.outputs[i].value();
      if (out >= made.size() || made[out] != 0)
        return at_node(node, internal_error("[graph] a value is made twice"));
      made[out] = 1;
      const ValueType& type = graph.values[out].type;
      if (type.lead != (*types)[i].lead || type.width != (*types)[i].width) {
        return at_node(
            node, internal_error("[graph] output " + std::to_string(i) + " has another type than inferred"));
      }
    }
  }
  if (graph.output.value() >= made.size() || made[graph.output.value()] == 0) {
    return internal_error("[graph] the output is never made");
  }
  return ok_status();
}

std::string print(const WeightDecl& weight) {
  return weight.name + " [" + std::to_string(weight.rows) + ", " + std::to_string(weight.cols) + "]";
}

std::string print(const Graph& graph) {
  std::ostringstream out;
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i > 0) out << ", ";
      print_type(out, graph.value(node.outputs[i]));
    }
    if (node.outputs.empty()) out << "()";
    out << " = " << op_name(node.op) << '(';
    for (size_t i = 0; i < node.inputs.size(); ++i)
      out << (i > 0 ? ", " : "") << graph.value(node.inputs[i]).name;
    out << ')';
    for (WeightId w : op_weights(node.op)) out << ' ' << print(graph.weight(w));
    if (const auto slot = op_slot(node.op)) out << " slot " << slot->value();
    out << '\n';
  }
  return out.str();
}

}  // namespace skua
