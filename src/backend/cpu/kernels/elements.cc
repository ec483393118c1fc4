// Ops that handle each element alone: sums, products, activations.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/rows.h"

namespace skua::cpu::SKUA_ISA {

void act_mul(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  const int64_t width = call.args.width;
  if (call.args.gate_width == 1 && width > 1) {
    call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const V16 gate = splat(call.input(0)[t]);
        each_vector(t * width, (t + 1) * width, [&](auto get, auto put) {
          put(call.output(0), activate_times(call.args.act, gate, get(call.input(1))));
        });
      }
    });
    return;
  }
  elementwise(call, [&](auto get, auto put) {
    put(call.output(0), activate_times(call.args.act, get(call.input(0)), get(call.input(1))));
  });
}

void add(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  elementwise(call,
              [&](auto get, auto put) { put(call.output(0), get(call.input(0)) + get(call.input(1))); });
}

void softcap(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  const V16 cap = splat(call.args.factor);
  elementwise(call, [&](auto get, auto put) { put(call.output(0), cap * tanh(get(call.input(0)) / cap)); });
}

void scale(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  const V16 factor = splat(call.args.factor);
  elementwise(call, [&](auto get, auto put) { put(call.output(0), get(call.input(0)) * factor); });
}

void activate(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  elementwise(call, [&](auto get, auto put) {
    put(call.output(0), activate_times(call.args.act, get(call.input(0)), splat(1.0f)));
  });
}

void xielu(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  const auto number = [&](int i) { return *reinterpret_cast<const float*>(call.weight(i)); };
  const auto positive = splat(static_cast<float>(softplus(number(0))));
  const auto negative = splat(static_cast<float>(number(2) + softplus(number(1))));
  const V16 beta = splat(number(2)), eps = splat(number(3));
  elementwise(call, [&](auto get, auto put) {
    const V16 x = get(call.input(0));
    const V16 below = (expm1(min(eps, x)) - x) * negative;
    put(call.output(0), fma(beta, x, select(less(zero(), x), positive * x * x, below)));
  });
}

void mul(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  elementwise(call,
              [&](auto get, auto put) { put(call.output(0), get(call.input(0)) * get(call.input(1))); });
}

void scale_by(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
  const auto* w = reinterpret_cast<const float*>(call.weight(0));
  const int64_t width = call.args.width;
  const bool one = call.args.weight_width == 1;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* x = call.input(0) + t * width;
      float* y = call.output(0) + t * width;
      each_vector(0, width, [&](auto get, auto put) { put(y, get(x) * (one ? splat(w[0]) : get(w))); });
    }
  });
}

void scale_columns(const KernelCall& kernel_call) {
  const Call<ScaleColumnsArgs> call(kernel_call);
  const float* factors = call.args.factors.data();
  const auto width = static_cast<int64_t>(call.args.factors.size());
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* x = call.input(0) + t * width;
      float* y = call.output(0) + t * width;
      each_vector(0, width, [&](auto get, auto put) { put(y, get(x) * get(factors)); });
    }
  });
}

void position_scale(const KernelCall& kernel_call) {
  const Call<PositionScaleArgs> call(kernel_call);
  const auto* positions = reinterpret_cast<const int32_t*>(call.operands[1]);
  const int64_t width = call.args.width;
  const auto last = static_cast<int64_t>(call.args.factors.size()) - 1;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t step = min_of((positions[t] + call.args.offset) / call.args.stride, last);
      const V16 factor = splat(call.args.factors.data()[step]);
      const float* x = call.input(0) + t * width;
      float* y = call.output(0) + t * width;
      each_vector(0, width, [&](auto get, auto put) { put(y, get(x) * factor); });
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
