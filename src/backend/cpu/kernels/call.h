// What every kernel starts with: its arguments, operands and thread pool.
#pragma once

#include "backend/cpu/args.h"
#include "backend/cpu/executor.h"
#include "backend/cpu/kernels/simd.h"
#include "base/threads.h"

namespace skua::cpu::SKUA_ISA {

template <typename Args>
struct Call {
  const Args& args;
  std::byte* const* operands;
  ThreadPool& pool;
  LatentCounters& counters;
  uint64_t& saturated;

  explicit Call(const KernelCall& call)
      : args(*static_cast<const Args*>(call.args)),
        operands(call.operands),
        pool(static_cast<Executor*>(call.executor)->pool),
        counters(static_cast<Executor*>(call.executor)->counters),
        saturated(static_cast<Executor*>(call.executor)->saturated) {}

  const StepHeader& header() const { return *reinterpret_cast<const StepHeader*>(operands[0]); }
  int64_t n_rows() const { return args.lead == Lead::kTokens ? header().n_tokens : header().n_rows; }

  /// The `index`-th input or output value, as floats.
  const float* input(int index) const { return reinterpret_cast<const float*>(operands[args.input + index]); }
  float* output(int index) const { return reinterpret_cast<float*>(operands[args.output + index]); }
  const std::byte* weight(int index) const { return operands[args.weight + index]; }
  std::byte* workspace(int thread) const {
    return operands[args.workspace] + args.shared_bytes + static_cast<uint64_t>(thread) * args.thread_bytes;
  }

  /// fn(thread, begin, end) over ranges that cover [0, n), borders at multiples of `grain`: a few per thread,
  /// so that a thread that is late does less.
  template <typename Fn>
  void thread_ranges(int64_t n, int64_t grain, const Fn& fn) const {
    const int64_t grains = (n + grain - 1) / grain;
    const int64_t most = pool.n_threads() == 1 ? 1 : 4 * pool.n_threads();
    const int64_t n_units = min_of(grains, most);
    pool.run_units(n_units, [&](int thread, int64_t unit) {
      const int64_t begin = grains * unit / n_units * grain;
      fn(thread, begin, min_of(grains * (unit + 1) / n_units * grain, n));
    });
  }

  /// The same for work that needs no workspace: fn(begin, end).
  template <typename Fn>
  void ranges(int64_t n, int64_t grain, const Fn& fn) const {
    thread_ranges(n, grain, [&](int, int64_t begin, int64_t end) { fn(begin, end); });
  }
};

/// A packed weight's rows.
struct PlaneView {
  const std::byte* base = nullptr;
  const PackedWeight::Layout* layout = nullptr;
  const std::byte* row(int plane, int64_t r) const {
    return base + layout->plane_offset[plane] + static_cast<uint64_t>(r) * layout->plane_row_bytes[plane];
  }
};

}  // namespace skua::cpu::SKUA_ISA
