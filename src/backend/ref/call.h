// Inside backend/ref: what every float64 kernel is given. One argument struct serves all ops; RefCall names
// its operands, so that kernels read like their formulas.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/threads.h"

namespace skua::ref {

/// Fixed at lowering. `storage` of an edge and `slot.storage` are kF64 when nothing is to be rounded.
struct Args : KernelArgs {
  Op op;
  std::vector<StepInput> step_inputs;
  std::vector<ValueType> inputs, outputs;
  std::vector<PackedWeight::Layout> weights;
  CacheSlot slot;  // of ops that have one
  Capacity capacity;
  DType inner_storage = DType::kF64;  // GatedLinear: product_storage; RopeKvWrite: key_storage
};

/// A matrix of float64 rows in backend memory; only the step's real rows are counted.
struct Rows {
  double* data = nullptr;
  int64_t n = 0;
  int64_t width = 0;
  DType storage = DType::kF64;

  double* row(int64_t i) const { return data + i * width; }
  void store(int64_t i, int64_t column, double value) const { row(i)[column] = round_to(storage, value); }
};

/// One launch: operands in the order that KernelCall documents.
class Call {
 public:
  explicit Call(const KernelCall& call)
      : args(*static_cast<const Args*>(call.args)),
        header(*reinterpret_cast<const StepHeader*>(call.operands[0])),
        pool(*static_cast<ThreadPool*>(call.executor)),
        operands_(call.operands) {}

  const Args& args;
  const StepHeader& header;
  ThreadPool& pool;

  template <typename OpType>
  const OpType& op() const {
    return std::get<OpType>(args.op);
  }

  /// A step input as i32 values; the op must declare it.
  const int32_t* ints(StepInput input) const { return step_input<int32_t>(input); }
  const StepSeq* seqs() const { return step_input<StepSeq>(StepInput::kSeqs); }

  Rows input(size_t i) const { return rows(args.inputs[i], args.step_inputs.size() + i); }
  Rows output(size_t i) const { return rows(args.outputs[i], weights_end() + i); }
  double* slab() const { return reinterpret_cast<double*>(operands_[weights_end() + args.outputs.size()]); }

  /// Weight `i` of op_weights(op), as packed: still encoded.
  EncodedMatrix weight(size_t i) const;

  /// Row `row` of weight `i`, decoded.
  std::vector<double> weight_row(size_t i, int64_t row) const;

 private:
  size_t weights_end() const { return args.step_inputs.size() + args.inputs.size() + args.weights.size(); }

  Rows rows(const ValueType& type, size_t operand) const {
    return {reinterpret_cast<double*>(operands_[operand]),
            type.lead == Lead::kTokens ? header.n_tokens : header.n_rows, type.width, type.storage};
  }

  template <typename T>
  const T* step_input(StepInput input) const {
    for (size_t i = 0; i < args.step_inputs.size(); ++i) {
      if (args.step_inputs[i] == input) return reinterpret_cast<const T*>(operands_[i]);
    }
    SKUA_CHECK(false && "the op does not declare this step input");
    return nullptr;
  }

  std::byte* const* operands_;
};

/// Calls fn(i) for every i in [0, n), spread over the pool's threads.
template <typename Fn>
void for_each(ThreadPool& pool, int64_t n, const Fn& fn) {
  pool.run_units(n, [&](int, int64_t i) { fn(i); });
}

// One per op, each in <op>.cc.
void embed(const Call& call);
void rms_norm(const Call& call);
void layer_norm(const Call& call);
void linear(const Call& call);
void rope_angles(const Call& call);
void rope(const Call& call);
void kv_write(const Call& call);
void attention(const Call& call);
void head_linear(const Call& call);
void mla_attention(const Call& call);
void mla_fast_attention(const Call& call);
void index_select(const Call& call);
void causal_conv(const Call& call);
void ssm1(const Call& call);
void ssm2(const Call& call);
void gated_delta(const Call& call);
void moe_router(const Call& call);
void moe_experts(const Call& call);
void act_mul(const Call& call);
void activate(const Call& call);
void xielu(const Call& call);
void add(const Call& call);
void mul(const Call& call);
void scale_by(const Call& call);
void scale_columns(const Call& call);
void slice(const Call& call);
void position_scale(const Call& call);
void weighted_sum(const Call& call);
void cutoff(const Call& call);
void match_magnitude(const Call& call);
void softcap(const Call& call);
void scale(const Call& call);
void gather_rows(const Call& call);
void add_rms_norm(const Call& call);
void multi_linear(const Call& call);
void gated_linear(const Call& call);
void rope_kv_write(const Call& call);

}  // namespace skua::ref
