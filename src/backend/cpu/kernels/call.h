// What every kernel starts with: its arguments, operands and thread pool.
#pragma once

#include "backend/cpu/args.h"
#include "backend/cpu/kernels/simd.h"
#include "base/threads.h"

namespace skua::cpu::SKUA_ISA {

template <typename Args>
struct Call {
  const Args& args;
  std::byte* const* operands;
  ThreadPool& pool;

  explicit Call(const KernelCall& call)
      : args(*static_cast<const Args*>(call.args)),
        operands(call.operands),
        pool(*static_cast<ThreadPool*>(call.executor)) {}

  const StepHeader& header() const { return *reinterpret_cast<const StepHeader*>(operands[0]); }
  int64_t n_rows() const { return args.lead == Lead::kTokens ? header().n_tokens : header().n_rows; }

  /// The `index`-th input or output value, as floats.
  const float* input(int index) const { return reinterpret_cast<const float*>(operands[args.input + index]); }
  float* output(int index) const { return reinterpret_cast<float*>(operands[args.output + index]); }
  const std::byte* weight(int index) const { return operands[args.weight + index]; }
  std::byte* workspace(int thread) const {
    return operands[args.workspace] + args.shared_bytes + static_cast<uint64_t>(thread) * args.thread_bytes;
  }

  /// fn(thread, n_threads) on every thread; on this one alone when there is one unit of work.
  template <typename Fn>
  void all_threads(int64_t n_units, const Fn& fn) const {
    if (n_units <= 1) {
      if (n_units == 1) fn(0, 1);
      return;
    }
    const Fn* job = &fn;
    pool.run([](void* context, int thread,
                int n_threads) { (**static_cast<const Fn**>(context))(thread, n_threads); },
             &job);
  }

  /// fn(thread, begin, end) over ranges of [0, n), at most one per thread, borders at multiples of `grain`;
  /// on this thread alone when n <= grain.
  template <typename Fn>
  void thread_ranges(int64_t n, int64_t grain, const Fn& fn) const {
    const int64_t units = (n + grain - 1) / grain;
    all_threads(units, [&](int thread, int n_threads) {
      const int64_t begin = units * thread / n_threads * grain;
      const int64_t end = min_of(units * (thread + 1) / n_threads * grain, n);
      if (begin < end) fn(thread, begin, end);
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
