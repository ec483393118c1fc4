// Lowering: a graph becomes steps for one backend and one capacity.
#include <algorithm>

#include "base/math.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace skua {
namespace {

uint64_t input_bytes(StepInput input, const Capacity& cap) {
  const auto tokens = static_cast<uint64_t>(cap.n_tokens);
  const auto seqs = static_cast<uint64_t>(cap.n_seqs);
  switch (input) {
    case StepInput::kHeader:
      return sizeof(StepHeader);
    case StepInput::kIds:
    case StepInput::kPositions:
    case StepInput::kTokenSeq:
      return tokens * sizeof(int32_t);
    case StepInput::kSeqs:
      return seqs * sizeof(StepSeq);
    case StepInput::kRows:
      return static_cast<uint64_t>(cap.n_rows) * sizeof(int32_t);
    case StepInput::kPageTable:
      return seqs * static_cast<uint64_t>(cap.max_pages) * sizeof(int32_t);
  }
  return 0;
}

const char* input_name(StepInput input) {
  switch (input) {
    case StepInput::kHeader:
      return "in.header";
    case StepInput::kIds:
      return "in.ids";
    case StepInput::kPositions:
      return "in.positions";
    case StepInput::kTokenSeq:
      return "in.token_seq";
    case StepInput::kSeqs:
      return "in.seqs";
    case StepInput::kRows:
      return "in.rows";
    case StepInput::kPageTable:
      return "in.page_table";
  }
  return "in";
}

class Lowering {
 public:
  explicit Lowering(const LowerRequest& request) : request_(request) {
    plan_.capacity = request.capacity;
    plan_.graph =
        request.fusion == Fusion::kOn ? fuse(*request.graph, request.backend->fusions()) : *request.graph;
  }

  Result<Plan> run() {
    add_buffers();
    SKUA_RETURN_IF_ERROR(choose_kernels());
    place_values();
    for (size_t i = 0; i < plan_.graph.nodes.size(); ++i) add_uses(i);
    plan_.edges = derive_edges(plan_.steps);
    SKUA_RETURN_IF_ERROR(verify(plan_.steps, plan_.edges));
    const ValueType& out = plan_.graph.value(plan_.graph.output).type;
    plan_.output = value_use(plan_.graph.output, Access::kRead);
    plan_.n_vocab = out.width;
    return std::move(plan_);
  }

 private:
  BufferId add_buffer(BufferKind kind, uint32_t index, std::string name, uint64_t bytes) {
    plan_.buffers.push_back({kind, index, std::move(name), bytes});
    return BufferId(static_cast<uint32_t>(plan_.buffers.size() - 1));
  }

  void add_buffers() {
    const Graph& g = plan_.graph;
    for (uint32_t i = 0; i < g.weights.size(); ++i) {
      weights_.push_back(
          add_buffer(BufferKind::kWeight, i, g.weights[i].name, request_.weights[i].buffer->bytes()));
    }
    for (uint32_t i = 0; i < g.slots.size(); ++i) {
      slabs_.push_back(
          add_buffer(BufferKind::kCache, i, "cache." + std::to_string(i), request_.slab_bytes[i]));
      n_groups_ = std::max(n_groups_, request_.cache_group[i] + 1);
    }
    for (uint32_t i = 0; i < static_cast<uint32_t>(StepInput::kPageTable) + n_groups_; ++i) {
      const auto input = static_cast<StepInput>(std::min(i, static_cast<uint32_t>(StepInput::kPageTable)));
      inputs_.push_back(
          add_buffer(BufferKind::kInput, i, input_name(input), input_bytes(input, plan_.capacity)));
    }
    plan_.arena = add_buffer(BufferKind::kArena, 0, "arena", 0);
  }

  Status choose_kernels() {
    const ChooseContext context{&plan_.graph, request_.weights, plan_.capacity};
    for (const Node& node : plan_.graph.nodes) {
      auto choice = request_.backend->choose(context, node);
      if (!choice.ok()) return choice.status().with_context("[plan] " + node.label);
      plan_.steps.push_back({choice->fn,
                             choice->args,
                             {},
                             std::string(op_name(node.op)),
                             choice->kernel,
                             node.label,
                             choice->flops});
      workspace_bytes_.push_back(choice->workspace_bytes);
    }
    return ok_status();
  }

  uint64_t value_bytes(ValueId id) const {
    const ValueType& type = plan_.graph.value(id).type;
    const int32_t lead = type.lead == Lead::kTokens ? plan_.capacity.n_tokens : plan_.capacity.n_rows;
    return static_cast<uint64_t>(lead) * static_cast<uint64_t>(type.width) *
           request_.backend->element_bytes(type.storage);
  }

  void place_values() {
    const Graph& g = plan_.graph;
    std::vector<ArenaRequest> requests(g.values.size());
    for (uint32_t step = 0; step < g.nodes.size(); ++step) {
      for (ValueId id : g.nodes[step].outputs) requests[id.value()] = {value_bytes(id), step, step};
      for (ValueId id : g.nodes[step].inputs) requests[id.value()].last = step;
    }
    requests[g.output.value()].last = static_cast<uint32_t>(g.nodes.size());
    for (uint32_t step = 0; step < g.nodes.size(); ++step)
      requests.push_back({workspace_bytes_[step], step, step});
    const ArenaPlacement placement = place(requests);
    offsets_ = placement.offsets;
    plan_.arena_bytes = placement.total_bytes;
    plan_.buffers[plan_.arena.value()].bytes = placement.total_bytes;
  }

  Use value_use(ValueId id, Access access) const {
    const uint64_t begin = offsets_[id.value()];
    return {plan_.arena, begin, begin + value_bytes(id), access, Phase::kAfterWait};
  }

  Use whole(BufferId buffer, Access access, Phase phase) const {
    return {buffer, 0, plan_.buffers[buffer.value()].bytes, access, phase};
  }

  void add_uses(size_t index) {
    const Node& node = plan_.graph.nodes[index];
    std::vector<Use>& uses = plan_.steps[index].uses;
    const auto slot = op_slot(node.op);
    for (StepInput input : step_inputs(node.op)) {
      auto i = static_cast<uint32_t>(input);
      if (input == StepInput::kPageTable) i += request_.cache_group[slot->value()];
      uses.push_back(whole(inputs_[i], Access::kRead, Phase::kAfterWait));
    }
    for (ValueId id : node.inputs) uses.push_back(value_use(id, Access::kRead));
    for (WeightId id : op_weights(node.op)) {
      uses.push_back(whole(weights_[id.value()], Access::kRead, Phase::kBeforeWait));
    }
    for (ValueId id : node.outputs) uses.push_back(value_use(id, Access::kWrite));
    if (slot) {
      // A write through page tables can touch any page, so it declares the whole slab of its layer.
      const bool reads = reads_slot(node.op);
      uses.push_back(
          whole(slabs_[slot->value()], reads ? Access::kRead : Access::kReadWrite, Phase::kAfterWait));
    }
    if (workspace_bytes_[index] > 0) {
      const uint64_t begin = offsets_[plan_.graph.values.size() + index];
      uses.push_back(
          {plan_.arena, begin, begin + workspace_bytes_[index], Access::kReadWrite, Phase::kAfterWait});
    }
  }

  const LowerRequest& request_;
  Plan plan_;
  std::vector<BufferId> weights_, slabs_, inputs_;
  uint32_t n_groups_ = 0;
  std::vector<uint64_t> workspace_bytes_;
  std::vector<uint64_t> offsets_;
};

}  // namespace

Result<Plan> lower(const LowerRequest& request) { return Lowering(request).run(); }

}  // namespace skua
