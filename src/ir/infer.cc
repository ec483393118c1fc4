// Shape inference: one small function per op. All sizes come from checkpoints, so mismatches are errors, not
// bugs.
#include <string>

#include "ir/graph.h"

namespace skua {
namespace {

using Types = std::vector<ValueType>;

Status mismatch(const std::string& what, int64_t expected, int64_t got) {
  return invalid_argument("[graph] " + what + ": expected " + std::to_string(expected) + ", got " +
                          std::to_string(got));
}

/// The graph, the inputs' types and the storage asked for, while one op is looked at.
struct Inference {
  const Graph& graph;
  std::span<const ValueId> inputs;
  DType storage;
  DType second_storage;

  const ValueType& in(size_t i) const { return graph.value(inputs[i]).type; }

  Status arity(size_t n) const {
    if (inputs.size() != n)
      return mismatch("number of inputs", static_cast<int64_t>(n), static_cast<int64_t>(inputs.size()));
    return ok_status();
  }

  Result<Types> same(size_t n_inputs) const {
    SKUA_RETURN_IF_ERROR(arity(n_inputs));
    for (size_t i = 1; i < n_inputs; ++i) {
      if (in(i).width != in(0).width)
        return mismatch("width of input " + std::to_string(i), in(0).width, in(i).width);
      if (in(i).lead != in(0).lead) return invalid_argument("[graph] inputs differ in their leading size");
    }
    return Types{{in(0).lead, in(0).width, storage}};
  }

  Result<ValueType> linear(const Linear& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const WeightDecl& w = graph.weight(op.weight);
    if (w.cols != in(0).width) return mismatch("columns of " + w.name, in(0).width, w.cols);
    if (op.bias && graph.weight(*op.bias).cols != w.rows) {
      return mismatch("size of " + graph.weight(*op.bias).name, w.rows, graph.weight(*op.bias).cols);
    }
    return ValueType{in(0).lead, w.rows, storage};
  }

  Status groups(int32_t n_groups) const {
    if (n_groups >= 1 && in(0).width % n_groups == 0) return ok_status();
    return invalid_argument("[graph] a row of " + std::to_string(in(0).width) + " cannot be cut into " +
                            std::to_string(n_groups) + " groups");
  }

  Result<Types> norm(const RmsNorm& op) const {
    SKUA_RETURN_IF_ERROR(groups(op.n_groups));
    const int64_t size = op.weight ? graph.weight(*op.weight).cols : 0;
    if (op.weight && size != in(0).width && size * op.n_groups != in(0).width) {
      const WeightDecl& w = graph.weight(*op.weight);
      return mismatch("groups x size of " + w.name, in(0).width, w.cols * op.n_groups);
    }
    return Types{{in(0).lead, in(0).width, storage}};
  }

  Result<Types> rope(const Rope& op, size_t angles) const {
    if (int64_t{op.n_heads} * op.head_dim != in(0).width) {
      return mismatch("heads x head_dim of rope", in(0).width, int64_t{op.n_heads} * op.head_dim);
    }
    if (in(angles).width > op.head_dim || in(angles).width % 2 != 0) {
      return invalid_argument("[graph] rope of " + std::to_string(in(angles).width) +
                              " dimensions does not fit a head of " + std::to_string(op.head_dim));
    }
    return Types{{in(0).lead, in(0).width, storage}};
  }

  Status kv(SlotId slot_id, size_t k, size_t v) const {
    const CacheSlot& slot = graph.slot(slot_id);
    if (in(k).width != int64_t{slot.n_kv_heads} * slot.k_dim) {
      return mismatch("width of k", int64_t{slot.n_kv_heads} * slot.k_dim, in(k).width);
    }
    if (in(v).width != int64_t{slot.n_kv_heads} * slot.v_dim) {
      return mismatch("width of v", int64_t{slot.n_kv_heads} * slot.v_dim, in(v).width);
    }
    return ok_status();
  }

  Result<Types> operator()(const Embed& op) const {
    SKUA_RETURN_IF_ERROR(arity(0));
    return Types{{Lead::kTokens, graph.weight(op.table).cols, storage}};
  }
  Result<Types> operator()(const RmsNorm& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    return norm(op);
  }
  Result<Types> operator()(const LayerNorm& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    SKUA_RETURN_IF_ERROR(groups(op.n_groups));
    for (const auto& id : {op.weight, op.bias}) {
      if (!id) continue;
      const int64_t size = graph.weight(*id).cols;
      if (size != in(0).width && size * op.n_groups != in(0).width) {
        return mismatch("size of " + graph.weight(*id).name, in(0).width / op.n_groups, size);
      }
    }
    return Types{{in(0).lead, in(0).width, storage}};
  }
  Result<Types> operator()(const Linear& op) const {
    SKUA_ASSIGN_OR_RETURN(const ValueType type, linear(op));
    return Types{type};
  }
  Result<Types> operator()(const RopeAngles& op) const {
    SKUA_RETURN_IF_ERROR(arity(0));
    return Types{{Lead::kTokens, 2 * static_cast<int64_t>(op.inv_freq.size()), storage}};
  }
  Result<Types> operator()(const Rope& op) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    return rope(op, 1);
  }
  Result<Types> operator()(const KvWrite& op) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    SKUA_RETURN_IF_ERROR(kv(op.slot, 0, 1));
    return Types{};
  }
  Result<Types> operator()(const Attention& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const CacheSlot& slot = graph.slot(op.slot);
    if (in(0).width != int64_t{op.n_heads} * slot.k_dim) {
      return mismatch("width of q", int64_t{op.n_heads} * slot.k_dim, in(0).width);
    }
    if (op.n_heads < 1 || op.n_heads % slot.n_kv_heads != 0) {
      return invalid_argument("[graph] " + std::to_string(op.n_heads) + " heads cannot share " +
                              std::to_string(slot.n_kv_heads) + " kv heads");
    }
    SKUA_RETURN_IF_ERROR(vector_of(op.sinks, op.n_heads));
    if (op.window < 0 || op.chunk < 0) return invalid_argument("[graph] a window or chunk below 0");
    return Types{{Lead::kTokens, int64_t{op.n_heads} * slot.v_dim, storage}};
  }
  Result<Types> operator()(const HeadLinear& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const WeightDecl& w = graph.weight(op.weight);
    if (op.n_heads < 1 || w.rows % op.n_heads != 0) {
      return invalid_argument("[graph] " + print(w) + " does not part into " + std::to_string(op.n_heads) +
                              " heads");
    }
    if (w.cols * op.n_heads != in(0).width) {
      return mismatch("heads x columns of " + w.name, in(0).width, w.cols * op.n_heads);
    }
    return Types{{in(0).lead, w.rows, storage}};
  }
  Result<Types> operator()(const IndexSelect& op) const {
    SKUA_RETURN_IF_ERROR(arity(3));
    const CacheSlot& slot = graph.slot(op.slot);
    if (slot.kind != SlotKind::kLatent || slot.n_kv_heads != 1 || op.n_heads < 1 || op.top_k < 1) {
      return invalid_argument("[graph] index_select needs heads, a count and a slot with one row per token");
    }
    const int64_t widths[] = {slot.v_dim, slot.k_dim, 1};
    for (size_t i = 0; i < 3; ++i) {
      if (in(i).width != op.n_heads * widths[i])
        return mismatch("width of input " + std::to_string(i), op.n_heads * widths[i], in(i).width);
    }
    return Types{{Lead::kTokens, op.top_k, storage}};
  }
  Result<Types> operator()(const MlaAttention& op) const {
    SKUA_RETURN_IF_ERROR(arity(op.top_k > 0 ? 3 : 2));
    if (op.top_k > 0 && in(2).width != op.top_k) return mismatch("chosen positions", op.top_k, in(2).width);
    const CacheSlot& slot = graph.slot(op.slot);
    if (slot.kind != SlotKind::kLatent || slot.n_kv_heads != 1) {
      return invalid_argument("[graph] mla_attention needs a latent slot with one row per token");
    }
    if (op.n_heads < 1 || in(0).width != int64_t{op.n_heads} * slot.v_dim) {
      return mismatch("heads x rank", int64_t{op.n_heads} * slot.v_dim, in(0).width);
    }
    if (in(1).width != int64_t{op.n_heads} * slot.k_dim) {
      return mismatch("heads x rotated dimensions", int64_t{op.n_heads} * slot.k_dim, in(1).width);
    }
    return Types{{Lead::kTokens, in(0).width, storage}};
  }

  Result<Types> operator()(const MlaFastAttention& op) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    const CacheSlot& slot = graph.slot(op.slot);
    if (slot.kind != SlotKind::kLatent || slot.n_kv_heads != 1 || op.n_heads < 1 || op.min_tokens < 1) {
      return invalid_argument(
          "[graph] mla_fast_attention needs heads and a latent slot with one row per token");
    }
    const WeightDecl &keys = graph.weight(op.up_keys), &values = graph.weight(op.up_values);
    const int64_t n = op.n_heads, rank = slot.v_dim;
    if (keys.rows != n * rank) return mismatch("rows of " + keys.name, n * rank, keys.rows);
    if (values.cols != rank) return mismatch("columns of " + values.name, rank, values.cols);
    if (values.rows % n != 0)
      return mismatch("rows of " + values.name + " over the heads", 0, values.rows % n);
    if (in(0).width != n * keys.cols)
      return mismatch("heads x columns of " + keys.name, n * keys.cols, in(0).width);
    if (in(1).width != n * slot.k_dim) {
      return mismatch("heads x rotated dimensions", n * slot.k_dim, in(1).width);
    }
    return Types{{Lead::kTokens, values.rows, storage}};
  }

  Status vector_of(const std::optional<WeightId>& id, int64_t size) const {
    if (!id) return ok_status();
    const WeightDecl& w = graph.weight(*id);
    return w.rows == 1 && w.cols == size ? ok_status() : mismatch("size of " + w.name, size, w.cols);
  }
  Result<Types> operator()(const CausalConv& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const CacheSlot& slot = graph.slot(op.slot);
    const WeightDecl& w = graph.weight(op.weight);
    if (slot.kind != SlotKind::kConv) return invalid_argument("[graph] causal_conv needs a conv slot");
    if (in(0).lead != Lead::kTokens || in(0).width != slot.row)
      return mismatch("channels of the slot", in(0).width, slot.row);
    if (in(0).storage != slot.storage)
      return invalid_argument("[graph] causal_conv's rows are stored unlike its slot");
    if (w.cols != in(0).width) return mismatch("columns of " + w.name, in(0).width, w.cols);
    if (w.rows != slot.window) return mismatch("taps of " + w.name, slot.window, w.rows);
    SKUA_RETURN_IF_ERROR(vector_of(op.bias, in(0).width));
    return Types{{Lead::kTokens, in(0).width, storage}};
  }

  /// A scan's slot: `row` numbers kept of each token, n_blocks blocks of `state`.
  Status recurrent_slot(SlotId id, int64_t row, int64_t n_blocks, int64_t state) const {
    const CacheSlot& slot = graph.slot(id);
    if (slot.kind != SlotKind::kRecurrent) return invalid_argument("[graph] a scan needs a recurrent slot");
    if (slot.row != row) return mismatch("numbers kept of a token", row, slot.row);
    if (slot.n_blocks != n_blocks) return mismatch("blocks of the state", n_blocks, slot.n_blocks);
    if (slot.state != state) return mismatch("numbers of a block's state", state, slot.state);
    for (const ValueId id_in : inputs) {
      const ValueType& type = graph.value(id_in).type;
      if (type.lead != Lead::kTokens || type.storage != slot.storage)
        return invalid_argument("[graph] a scan needs one row per token, stored as its slot is");
    }
    return ok_status();
  }

  Status recurrent_slot(SlotId id, const CacheSlot& wanted) const {
    return recurrent_slot(id, wanted.row, wanted.n_blocks, wanted.state);
  }

  Result<Types> operator()(const Ssm1& op) const {
    SKUA_RETURN_IF_ERROR(arity(4));
    const int64_t d_inner = in(0).width, d_state = in(2).width;
    const WeightDecl& rates = graph.weight(op.a_log);
    if (in(1).width != d_inner) return mismatch("width of dt", d_inner, in(1).width);
    if (in(3).width != d_state) return mismatch("width of C", d_state, in(3).width);
    if (rates.rows != d_state) return mismatch("rows of " + rates.name, d_state, rates.rows);
    if (rates.cols != d_inner) return mismatch("columns of " + rates.name, d_inner, rates.cols);
    for (const WeightId id : {op.dt_bias, op.d}) SKUA_RETURN_IF_ERROR(vector_of(id, d_inner));
    SKUA_RETURN_IF_ERROR(recurrent_slot(op.slot, ssm1_slot(d_inner, d_state, 0)));
    return Types{{Lead::kTokens, d_inner, storage}};
  }

  Result<Types> operator()(const GatedDelta& op) const {
    SKUA_RETURN_IF_ERROR(arity(5));
    if (op.n_k_heads < 1 || op.k_dim < 1 || op.v_dim < 1 || op.n_v_heads < 1 ||
        op.n_v_heads % op.n_k_heads != 0) {
      return invalid_argument("[graph] gated_delta of " + std::to_string(op.n_v_heads) + " value heads on " +
                              std::to_string(op.n_k_heads) + " key heads");
    }
    const int64_t k = int64_t{op.n_k_heads} * op.k_dim, v = int64_t{op.n_v_heads} * op.v_dim;
    const int64_t widths[] = {k, k, v, op.n_v_heads, op.n_v_heads};
    for (size_t i = 0; i < 5; ++i) {
      if (in(i).width != widths[i])
        return mismatch("width of input " + std::to_string(i), widths[i], in(i).width);
    }
    for (const WeightId id : {op.a_log, op.dt_bias}) SKUA_RETURN_IF_ERROR(vector_of(id, op.n_v_heads));
    SKUA_RETURN_IF_ERROR(recurrent_slot(op.slot, delta_slot(op, 0)));
    return Types{{Lead::kTokens, v, storage}};
  }

  Result<Types> operator()(const Ssm2& op) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    if (op.n_heads < 1 || op.head_dim < 1 || op.state_dim < 1 || op.n_groups < 1 ||
        op.n_heads % op.n_groups != 0) {
      return invalid_argument("[graph] ssm2 of " + std::to_string(op.n_heads) + " heads in " +
                              std::to_string(op.n_groups) + " groups");
    }
    const int64_t d_inner = int64_t{op.n_heads} * op.head_dim;
    const int64_t bc = int64_t{op.n_groups} * op.state_dim;
    if (in(0).width != d_inner + 2 * bc) return mismatch("width of x, B, C", d_inner + 2 * bc, in(0).width);
    if (in(1).width != op.n_heads) return mismatch("width of dt", op.n_heads, in(1).width);
    for (const WeightId id : {op.a_log, op.d, op.dt_bias}) SKUA_RETURN_IF_ERROR(vector_of(id, op.n_heads));
    SKUA_RETURN_IF_ERROR(
        recurrent_slot(op.slot, d_inner + bc + op.n_heads, op.n_heads, int64_t{op.state_dim} * op.head_dim));
    return Types{{Lead::kTokens, d_inner, storage}};
  }

  Result<Types> operator()(const MoeRouter& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const WeightDecl& w = graph.weight(op.weight);
    if (w.cols != in(0).width) return mismatch("columns of " + w.name, in(0).width, w.cols);
    for (const auto& id : {op.bias, op.selection_bias, op.expert_scale}) {
      SKUA_RETURN_IF_ERROR(vector_of(id, w.rows));
    }
    if (op.n_groups < 1 || w.rows % op.n_groups != 0 || op.top_k_groups < 1 ||
        op.top_k_groups > op.n_groups) {
      return invalid_argument("[graph] " + std::to_string(w.rows) + " experts cannot be routed through " +
                              std::to_string(op.top_k_groups) + " of " + std::to_string(op.n_groups) +
                              " equal groups");
    }
    if (op.top_k < 1 || op.top_k > w.rows / op.n_groups * op.top_k_groups) {
      return invalid_argument("[graph] " + std::to_string(op.top_k) + " experts per token of " +
                              std::to_string(w.rows / op.n_groups * op.top_k_groups) + " that can be chosen");
    }
    return Types{{in(0).lead, w.rows, storage}};
  }
  Result<Types> operator()(const MoeExperts& op) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    const WeightDecl &gate = graph.weight(op.gate), &up = graph.weight(op.up), &down = graph.weight(op.down);
    if (op.n_experts < 1 || op.n_identity < 0 || in(1).width != int64_t{op.n_experts} + op.n_identity) {
      return mismatch("width of the routing", int64_t{op.n_experts} + op.n_identity, in(1).width);
    }
    if (gate.rows % op.n_experts != 0 || up.rows != gate.rows)
      return mismatch("rows of " + up.name, gate.rows, up.rows);
    if (gate.cols != in(0).width) return mismatch("columns of " + gate.name, in(0).width, gate.cols);
    if (up.cols != in(0).width) return mismatch("columns of " + up.name, in(0).width, up.cols);
    if (down.cols != gate.rows / op.n_experts) {
      return mismatch("columns of " + down.name, gate.rows / op.n_experts, down.cols);
    }
    if (down.rows != in(0).width * op.n_experts)
      return mismatch("rows of " + down.name, in(0).width * op.n_experts, down.rows);
    SKUA_RETURN_IF_ERROR(vector_of(op.gate_bias, gate.rows));
    SKUA_RETURN_IF_ERROR(vector_of(op.up_bias, up.rows));
    SKUA_RETURN_IF_ERROR(vector_of(op.down_bias, down.rows));
    if (op.gate_bias.has_value() != op.up_bias.has_value() ||
        op.gate_bias.has_value() != op.down_bias.has_value()) {
      return invalid_argument("[graph] experts have all three biases or none");
    }
    if (op.top_k < 1 || op.top_k > in(1).width) return mismatch("experts per token", in(1).width, op.top_k);
    return Types{{in(0).lead, in(0).width, storage}};
  }
  Result<Types> operator()(const ActMul&) const {
    SKUA_RETURN_IF_ERROR(arity(2));
    if (in(0).width != 1) return same(2);
    if (in(0).lead != in(1).lead) return invalid_argument("[graph] inputs differ in their leading size");
    return Types{{in(1).lead, in(1).width, storage}};
  }
  Result<Types> operator()(const Activate&) const { return same(1); }
  Result<Types> operator()(const XIelu& op) const {
    for (const WeightId id : {op.alpha_p, op.alpha_n, op.beta, op.eps}) {
      const WeightDecl& w = graph.weight(id);
      if (w.rows * w.cols != 1) return mismatch("size of " + w.name, 1, w.rows * w.cols);
    }
    return same(1);
  }
  Result<Types> operator()(const Add&) const { return same(2); }
  Result<Types> operator()(const Mul&) const { return same(2); }
  Result<Types> operator()(const ScaleBy& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const WeightDecl& w = graph.weight(op.weight);
    if (w.rows != 1 || (w.cols != 1 && w.cols != in(0).width)) {
      return mismatch("size of " + w.name, in(0).width, w.cols);
    }
    return same(1);
  }
  Result<Types> operator()(const ScaleColumns& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    const auto n = static_cast<int64_t>(op.factors.size());
    if (n != in(0).width) return mismatch("number of factors", in(0).width, n);
    return same(1);
  }
  Result<Types> operator()(const Slice& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    if (op.begin < 0 || op.width < 1 || op.begin > in(0).width - op.width) {
      return invalid_argument("[graph] columns " + std::to_string(op.begin) + " to " +
                              std::to_string(op.begin + op.width) + " of a row of " +
                              std::to_string(in(0).width));
    }
    return Types{{in(0).lead, op.width, storage}};
  }
  Result<Types> operator()(const WeightedSum& op) const {
    if (inputs.size() < 2) return mismatch("number of inputs", 2, static_cast<int64_t>(inputs.size()));
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (in(i).width != in(1).width || in(i).lead != in(0).lead) {
        return mismatch("width of input " + std::to_string(i), in(1).width, in(i).width);
      }
    }
    const auto last = op.begin + static_cast<int64_t>(inputs.size()) - 1;
    if (op.begin < 0 || last > in(0).width) return mismatch("number of coefficients", last, in(0).width);
    return Types{{in(1).lead, in(1).width, storage}};
  }
  Result<Types> operator()(const Cutoff&) const { return same(1); }
  Result<Types> operator()(const MatchMagnitude&) const { return same(2); }
  Result<Types> operator()(const PositionScale& op) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    if (in(0).lead != Lead::kTokens)
      return invalid_argument("[graph] position_scale needs one row per token");
    if (op.stride < 1 || op.factors.empty())
      return invalid_argument("[graph] position_scale without factors");
    return same(1);
  }
  Result<Types> operator()(const Softcap&) const { return same(1); }
  Result<Types> operator()(const Scale&) const { return same(1); }
  Result<Types> operator()(const GatherRows&) const {
    SKUA_RETURN_IF_ERROR(arity(1));
    if (in(0).lead != Lead::kTokens) return invalid_argument("[graph] gather_rows needs one row per token");
    return Types{{Lead::kRows, in(0).width, storage}};
  }
  Result<Types> operator()(const AddRmsNorm& op) const {
    SKUA_ASSIGN_OR_RETURN(Types sum, same(2));
    SKUA_ASSIGN_OR_RETURN(const Types normed, norm(op.norm));
    sum.push_back(normed[0]);
    sum[1].storage = second_storage;
    return sum;
  }
  Result<Types> operator()(const MultiLinear& op) const {
    Types out;
    for (const Linear& part : op.parts) {
      SKUA_ASSIGN_OR_RETURN(const ValueType type, linear(part));
      out.push_back(type);
    }
    return out;
  }
  Result<Types> operator()(const GatedLinear& op) const {
    SKUA_ASSIGN_OR_RETURN(const ValueType gate, linear(op.gate));
    SKUA_ASSIGN_OR_RETURN(const ValueType up, linear(op.up));
    if (gate.width != up.width) return mismatch("rows of the up projection", gate.width, up.width);
    return Types{gate};
  }
  Result<Types> operator()(const RopeKvWrite& op) const {
    SKUA_RETURN_IF_ERROR(arity(3));
    SKUA_ASSIGN_OR_RETURN([[maybe_unused]] const Types rotated, rope(op.rope, 1));
    SKUA_RETURN_IF_ERROR(kv(op.write.slot, 0, 2));
    return Types{};
  }
};

}  // namespace

Result<std::vector<ValueType>> infer_types(const Graph& graph, const Op& op, std::span<const ValueId> inputs,
                                           DType storage, DType second_storage) {
  return std::visit(Inference{graph, inputs, storage, second_storage}, op);
}

}  // namespace skua
