// Reads the sizes off a graph: W_UK stands before mla_attention, W_UV behind it.
#include "models/latent_bytes.h"

namespace skua {
namespace {

enum class Side : uint8_t { kMakes, kReads };

/// The head_linear that makes `value`, or the first that reads it.
const HeadLinear* head_linear_at(const Graph& graph, ValueId value, Side side) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : side == Side::kMakes ? node.outputs : node.inputs) {
      if (id == value && std::holds_alternative<HeadLinear>(node.op)) return &std::get<HeadLinear>(node.op);
    }
  }
  return nullptr;
}

/// Sizes of a layer that attends from q_nope to values in one op.
LatentSizes sizes_of(const Graph& graph, const MlaFastAttention& op) {
  const CacheSlot& slot = graph.slot(op.slot);
  return {.n_heads = op.n_heads,
          .rank = slot.v_dim,
          .rope = slot.k_dim,
          .nope = graph.weight(op.up_keys).cols,
          .v = graph.weight(op.up_values).rows / op.n_heads};
}

}  // namespace

std::optional<LatentSizes> latent_sizes(const Graph& graph) {
  std::optional<LatentSizes> out;
  for (const Node& node : graph.nodes) {
    if (const auto* select = std::get_if<IndexSelect>(&node.op); select != nullptr && !out) {
      out.emplace().index = graph.slot(select->slot).k_dim + graph.slot(select->slot).v_dim;
    }
    if (const auto* fast = std::get_if<MlaFastAttention>(&node.op)) {
      if (!out) out = sizes_of(graph, *fast);
      ++out->n_layers;
    }
    const auto* attention = std::get_if<MlaAttention>(&node.op);
    if (attention == nullptr) continue;
    if (!out) out.emplace();
    if (++out->n_layers > 1) continue;
    const CacheSlot& slot = graph.slot(attention->slot);
    out->n_heads = attention->n_heads;
    out->rank = slot.v_dim;
    out->rope = slot.k_dim;
    const HeadLinear* up_keys = head_linear_at(graph, node.inputs[0], Side::kMakes);
    const HeadLinear* up_values = head_linear_at(graph, node.outputs[0], Side::kReads);
    if (up_keys == nullptr || up_values == nullptr) return std::nullopt;
    out->nope = graph.weight(up_keys->weight).cols;
    out->v = graph.weight(up_values->weight).rows / attention->n_heads;
  }
  return out;
}

}  // namespace skua
