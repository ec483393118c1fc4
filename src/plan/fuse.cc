// Fusion: rewrites patterns of a graph into fused ops. Never changes an edge's type, so never a bit of the
// result.
#include <algorithm>
#include <optional>

#include "plan/plan.h"

namespace skua {
namespace {

/// A graph being rewritten: nodes are replaced in place or marked dead.
class Fuser {
 public:
  explicit Fuser(const Graph& graph) : graph_(graph), dead_(graph.nodes.size(), 0) { index(); }

  void gated_linear() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* act = std::get_if<ActMul>(&graph_.nodes[i].op);
      if (act == nullptr || dead_[i] != 0) continue;
      const auto gate = sole_linear(graph_.nodes[i].inputs[0]);
      const auto up = sole_linear(graph_.nodes[i].inputs[1]);
      if (!gate || !up || *gate == *up) continue;
      const Node& g = graph_.nodes[*gate];
      const Node& u = graph_.nodes[*up];
      const DType storage = graph_.value(g.outputs[0]).type.storage;
      if (graph_.value(g.outputs[0]).type.width != graph_.value(u.outputs[0]).type.width) continue;
      if (g.inputs != u.inputs || storage != graph_.value(u.outputs[0]).type.storage) continue;
      Node fused{GatedLinear{std::get<Linear>(g.op), std::get<Linear>(u.op), act->act, storage}, g.inputs,
                 graph_.nodes[i].outputs, graph_.nodes[i].label};
      dead_[*gate] = dead_[*up] = 1;
      graph_.nodes[i] = std::move(fused);
    }
    index();
  }

  void multi_linear() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (dead_[i] != 0 || !std::holds_alternative<Linear>(graph_.nodes[i].op)) continue;
      std::vector<size_t> group{i};
      for (size_t j = i + 1; j < graph_.nodes.size(); ++j) {
        if (dead_[j] == 0 && std::holds_alternative<Linear>(graph_.nodes[j].op) &&
            graph_.nodes[j].inputs == graph_.nodes[i].inputs) {
          group.push_back(j);
        }
      }
      if (group.size() < 2) continue;
      MultiLinear fused;
      Node node{MultiLinear{}, graph_.nodes[i].inputs, {}, graph_.nodes[i].label};
      for (size_t j : group) {
        fused.parts.push_back(std::get<Linear>(graph_.nodes[j].op));
        node.outputs.push_back(graph_.nodes[j].outputs[0]);
        if (j != i) {
          dead_[j] = 1;
          node.label += "+" + graph_.nodes[j].label.substr(graph_.nodes[j].label.rfind('.') + 1);
        }
      }
      node.op = std::move(fused);
      graph_.nodes[i] = std::move(node);
    }
    index();
  }

  void add_rms_norm() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (dead_[i] != 0 || !std::holds_alternative<Add>(graph_.nodes[i].op)) continue;
      const ValueId sum = graph_.nodes[i].outputs[0];
      for (size_t j = i + 1; j < graph_.nodes.size(); ++j) {
        const auto* norm = std::get_if<RmsNorm>(&graph_.nodes[j].op);
        if (dead_[j] != 0 || norm == nullptr || !norm->weight || norm->n_groups != 1 ||
            graph_.nodes[j].inputs[0] != sum)
          continue;
        Node fused{AddRmsNorm{*norm},
                   graph_.nodes[i].inputs,
                   {sum, graph_.nodes[j].outputs[0]},
                   graph_.nodes[j].label};
        dead_[j] = 1;
        graph_.nodes[i] = std::move(fused);
        break;
      }
    }
    index();
  }

  void rope_kv_write() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* write = std::get_if<KvWrite>(&graph_.nodes[i].op);
      if (write == nullptr || dead_[i] != 0) continue;
      const auto rope_index = sole_user_producer(graph_.nodes[i].inputs[0]);
      if (!rope_index) continue;
      const Node& rope_node = graph_.nodes[*rope_index];
      const auto* rope = std::get_if<Rope>(&rope_node.op);
      if (rope == nullptr) continue;
      const DType storage = graph_.value(rope_node.outputs[0]).type.storage;
      Node fused{RopeKvWrite{*rope, *write, storage},
                 {rope_node.inputs[0], rope_node.inputs[1], graph_.nodes[i].inputs[1]},
                 {},
                 graph_.nodes[i].label};
      dead_[*rope_index] = 1;
      graph_.nodes[i] = std::move(fused);
    }
    index();
  }

  Graph take() {
    Graph out = std::move(graph_);
    std::vector<Node> alive;
    for (size_t i = 0; i < out.nodes.size(); ++i) {
      if (dead_[i] == 0) alive.push_back(std::move(out.nodes[i]));
    }
    out.nodes = std::move(alive);
    return out;
  }

 private:
  void index() {
    n_uses_.assign(graph_.values.size(), 0);
    producer_.assign(graph_.values.size(), 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (dead_[i] != 0) continue;
      for (ValueId in : graph_.nodes[i].inputs) ++n_uses_[in.value()];
      for (ValueId out : graph_.nodes[i].outputs) producer_[out.value()] = i;
    }
    if (graph_.output.value() < n_uses_.size()) ++n_uses_[graph_.output.value()];
  }

  /// The node that makes `value`, if exactly one node uses it.
  std::optional<size_t> sole_user_producer(ValueId value) const {
    if (n_uses_[value.value()] != 1) return std::nullopt;
    const size_t node = producer_[value.value()];
    if (dead_[node] != 0) return std::nullopt;
    return node;
  }

  std::optional<size_t> sole_linear(ValueId value) const {
    const auto node = sole_user_producer(value);
    if (!node || !std::holds_alternative<Linear>(graph_.nodes[*node].op)) return std::nullopt;
    return node;
  }

  Graph graph_;
  std::vector<char> dead_;
  std::vector<int> n_uses_;
  std::vector<size_t> producer_;
};

}  // namespace

Graph fuse(const Graph& graph, const FusionSet& fusions) {
  Fuser fuser(graph);
  if (fusions.gated_linear) fuser.gated_linear();
  if (fusions.multi_linear) fuser.multi_linear();
  if (fusions.add_rms_norm) fuser.add_rms_norm();
  if (fusions.rope_kv_write) fuser.rope_kv_write();
  return fuser.take();
}

}  // namespace skua
