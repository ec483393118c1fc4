// Ops of models that carry several streams: weighted sums, cutoffs and matched magnitudes of rows.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/rows.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// fn(x, y, t) for each row of the first input and the output.
template <typename Fn>
void each_row(const Call<StreamArgs>& call, const Fn& fn) {
  const int64_t width = call.args.width;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) fn(t, call.output(0) + t * width);
  });
}

float mean_square(const float* x, int64_t n, V16 centre) {
  return row_sum(x, n, [&](V16 sum, V16 v) { return fma(v - centre, v - centre, sum); }) /
         static_cast<float>(n);
}

}  // namespace

void weighted_sum(const KernelCall& kernel_call) {
  const Call<StreamArgs> call(kernel_call);
  const StreamArgs& args = call.args;
  each_row(call, [&](int64_t t, float* y) {
    const float* c = call.input(0) + t * args.coefficient_width + args.begin;
    for (int64_t s = 0; s < args.n_streams; ++s) {
      const float* x = call.input(static_cast<int>(s) + 1) + t * args.width;
      const V16 factor = splat(c[s] + args.number);
      each_vector(0, args.width, [&](auto get, auto put) {
        put(y, s == 0 ? get(x) * factor : fma(get(x), factor, get(y)));
      });
    }
  });
}

void cutoff(const KernelCall& kernel_call) {
  const Call<StreamArgs> call(kernel_call);
  const int64_t width = call.args.width;
  each_row(call, [&](int64_t t, float* y) {
    const float* x = call.input(0) + t * width;
    const float mean = row_sum(x, width, [](V16 sum, V16 v) { return sum + v; }) / static_cast<float>(width);
    const float spread = __builtin_sqrtf(mean_square(x, width, splat(mean)));
    const V16 least = splat(mean + call.args.number * spread);
    each_vector(0, width, [&](auto get, auto put) { put(y, max(zero(), get(x) - least)); });
  });
}

void match_magnitude(const KernelCall& kernel_call) {
  const Call<StreamArgs> call(kernel_call);
  const int64_t width = call.args.width;
  each_row(call, [&](int64_t t, float* y) {
    const float* x = call.input(0) + t * width;
    const float target = __builtin_sqrtf(mean_square(call.input(1) + t * width, width, zero()));
    const float own = __builtin_sqrtf(max_of(mean_square(x, width, zero()), call.args.number));
    const V16 up = splat(target), down = splat(own);
    each_vector(0, width, [&](auto get, auto put) { put(y, get(x) * up / down); });
  });
}

}  // namespace skua::cpu::SKUA_ISA
