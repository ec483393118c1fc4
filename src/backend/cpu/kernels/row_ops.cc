// Ops that handle each row or element alone: embed, norms, activations, sums. A row is summed in one fixed
// tree chosen by its width: four vectors of 16 lanes (k mod 64), added pairwise, then folded.
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kElementGrain = 8192;  // elements below which a second thread does not pay

int64_t row_grain(int64_t width) { return max_of(int64_t{1}, kElementGrain / max_of(width, int64_t{1})); }

/// Sum of squares of x[0, n).
float square_sum(const float* x, int64_t n) {
  V16 sum[4] = {zero(), zero(), zero(), zero()};
  int64_t k = 0;
  for (; k + 64 <= n; k += 64) {
    for (int j = 0; j < 4; ++j) {
      const V16 v = load(x + k + 16 * j);
      sum[j] = fma(v, v, sum[j]);
    }
  }
  for (int j = 0; k < n; k += 16, ++j) {
    const V16 v = load_part(x + k, min_of(n - k, int64_t{16}));
    sum[j] = fma(v, v, sum[j]);
  }
  return reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/// fn(offset, count) for each vector of [0, n); count < 16 only for the last.
template <typename Fn>
void each_vector(int64_t begin, int64_t end, Fn&& fn) {
  int64_t k = begin;
  for (; k + 16 <= end; k += 16)
    fn([&](const float* p) { return load(p + k); }, [&](float* p, V16 v) { store(p + k, v); });
  if (k < end) {
    const int64_t n = end - k;
    fn([&](const float* p) { return load_part(p + k, n); },
       [&](float* p, V16 v) { store_part(p + k, v, n); });
  }
}

/// y = x / sqrt(mean(x^2) + eps) * (w + offset), for each group of the row.
void norm_row(const RmsNormArgs& args, const float* x, const float* w, float* y) {
  const int64_t n = args.group_width;
  for (int64_t begin = 0; begin < args.width; begin += n) {
    const float mean = square_sum(x + begin, n) / static_cast<float>(n);
    const V16 root = splat(__builtin_sqrtf(mean + args.eps));
    const V16 offset = splat(args.weight_offset);
    each_vector(0, n, [&](auto get, auto put) { put(y + begin, get(x + begin) / root * (get(w) + offset)); });
  }
}

template <typename Fn>
void elementwise(const Call<ElementArgs>& call, Fn&& fn) {
  call.ranges(call.n_rows() * call.args.width, kElementGrain,
              [&](int64_t begin, int64_t end) { each_vector(begin, end, fn); });
}

/// The row of a table in panels, with the values that decode_row() gives.
void panel_row(const EmbedArgs& args, const PlaneView& table, int64_t row, float* y) {
  const PanelFormat& shape = args.panel;
  const int64_t panel = row / kPanelRows, r = row % kPanelRows;
  const std::byte* codes = table.row(0, panel);
  const int64_t size = shape.scale_type == DType::kF32 ? 4 : 2;
  for (int64_t k = 0; k < table.layout->cols; ++k) {
    const int64_t column = k % kPanelCols, vector = column / 4;
    const std::byte* block = codes + k / kPanelCols * panel_block_bytes(shape.bits);
    const auto byte = [&](int64_t v) { return load_as<uint8_t>(block + v * 64 + r * 4 + column % 4); };
    const int code = shape.bits == 8 ? byte(vector) : vector < 4 ? byte(vector) & 15 : byte(vector - 4) >> 4;
    const auto number = [&](int plane) {
      const std::byte* at = table.row(plane, panel) + (k / shape.group_cols * kPanelRows + r) * size;
      switch (shape.scale_type) {
        case DType::kF16:
          return f16_value(at);
        case DType::kBF16:
          return bf16_value(at);
        default:
          return load_as<float>(at);
      }
    };
    const auto q = static_cast<float>(code - shape.centre);
    y[k] = shape.has_offset ? __builtin_fmaf(number(1), q, number(2)) : number(1) * q;
  }
}

}  // namespace

void embed(const KernelCall& kernel_call) {
  const Call<EmbedArgs> call(kernel_call);
  const auto* ids = reinterpret_cast<const int32_t*>(call.operands[1]);
  const PlaneView table{call.weight(0), &call.args.table};
  const DecodeFn decode = decoder(table.layout->format);  // of a table in rows
  const int64_t width = table.layout->cols;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* y = call.output(0) + t * width;
      const int64_t id = ids[t];
      if (call.args.order == WeightOrder::kPanels) {
        panel_row(call.args, table, id, y);
      } else {
        decode({table.row(0, id), table.row(1, id), table.row(2, id), table.layout->format.group}, width, y);
      }
      if (call.args.scale != 1.0f) {
        const V16 factor = splat(call.args.scale);
        each_vector(0, width, [&](auto get, auto put) { put(y, get(y) * factor); });
      }
    }
  });
}

void rms_norm(const KernelCall& kernel_call) {
  const Call<RmsNormArgs> call(kernel_call);
  const auto* w = reinterpret_cast<const float*>(call.weight(0));
  const int64_t width = call.args.width;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      norm_row(call.args, call.input(0) + t * width, w, call.output(0) + t * width);
  });
}

void add_rms_norm(const KernelCall& kernel_call) {
  const Call<RmsNormArgs> call(kernel_call);
  const auto* w = reinterpret_cast<const float*>(call.weight(0));
  const int64_t width = call.args.width;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* a = call.input(0) + t * width;
      const float* b = call.input(1) + t * width;
      float* sum = call.output(0) + t * width;
      each_vector(0, width, [&](auto get, auto put) { put(sum, get(a) + get(b)); });
      norm_row(call.args, sum, w, call.output(1) + t * width);
    }
  });
}

void act_mul(const KernelCall& kernel_call) {
  const Call<ElementArgs> call(kernel_call);
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

void gather_rows(const KernelCall& kernel_call) {
  const Call<GatherArgs> call(kernel_call);
  const auto* rows = reinterpret_cast<const int32_t*>(call.operands[1]);
  const int64_t width = call.args.width;
  call.ranges(call.header().n_rows, row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      __builtin_memcpy(call.output(0) + r * width, call.input(0) + rows[r] * width,
                       static_cast<size_t>(width) * sizeof(float));
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
