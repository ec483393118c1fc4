// Ops that handle each row alone: embed, norms, gather, slice. A row is summed in one fixed tree chosen by
// its width (rows.h).
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/panel_row.h"
#include "backend/cpu/kernels/rows.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// y = x / sqrt(mean(x^2) + eps) * (w + offset), for each group of the row.
void norm_row(const NormArgs& args, const float* x, const float* w, float* y) {
  const int64_t n = args.group_width;
  for (int64_t begin = 0; begin < args.width; begin += n) {
    const float mean =
        row_sum(x + begin, n, [](V16 sum, V16 v) { return fma(v, v, sum); }) / static_cast<float>(n);
    const V16 root = splat(__builtin_sqrtf(mean + args.eps));
    const V16 offset = splat(args.weight_offset);
    const float* weight = w == nullptr ? nullptr : w + begin % args.weight_width;
    if (weight == nullptr) {
      each_vector(0, n, [&](auto get, auto put) { put(y + begin, get(x + begin) / root); });
    } else {
      each_vector(
          0, n, [&](auto get, auto put) { put(y + begin, get(x + begin) / root * (get(weight) + offset)); });
    }
  }
}

/// y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b, for each group of the row.
void layer_norm_row(const NormArgs& args, const float* x, const float* w, const float* b, float* y) {
  const int64_t n = args.group_width;
  const auto size = static_cast<float>(n);
  for (int64_t begin = 0; begin < args.width; begin += n) {
    const V16 mean = splat(row_sum(x + begin, n, [](V16 sum, V16 v) { return sum + v; }) / size);
    const float variance =
        row_sum(x + begin, n, [&](V16 sum, V16 v) { return fma(v - mean, v - mean, sum); }) / size;
    const V16 root = splat(__builtin_sqrtf(variance + args.eps));
    const float* weight = w == nullptr ? nullptr : w + begin % args.weight_width;
    const float* bias = b == nullptr ? nullptr : b + begin % args.bias_width;
    each_vector(0, n, [&](auto get, auto put) {
      V16 value = (get(x + begin) - mean) / root;
      if (weight != nullptr) value = value * get(weight);
      if (bias != nullptr) value = value + get(bias);
      put(y + begin, value);
    });
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
      const int64_t index = ids[t] + call.args.index_offset;
      const int64_t id = index < call.args.n_rows ? index : 0;
      if (call.args.order == WeightOrder::kPanels) {
        decode_panel_row(call.args.panel, table, id, y);
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
  const Call<NormArgs> call(kernel_call);
  const float* w = call.args.weight < 0 ? nullptr : reinterpret_cast<const float*>(call.weight(0));
  const int64_t width = call.args.width;
  call.ranges(call.n_rows(), row_grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      norm_row(call.args, call.input(0) + t * width, w, call.output(0) + t * width);
  });
}

void layer_norm(const KernelCall& kernel_call) {
  const Call<NormArgs> call(kernel_call);
  const NormArgs& args = call.args;
  const auto vector = [&](int operand) {
    return operand < 0 ? nullptr : reinterpret_cast<const float*>(call.operands[operand]);
  };
  call.ranges(call.n_rows(), row_grain(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      layer_norm_row(args, call.input(0) + t * args.width, vector(args.weight), vector(args.bias),
                     call.output(0) + t * args.width);
    }
  });
}

void add_rms_norm(const KernelCall& kernel_call) {
  const Call<NormArgs> call(kernel_call);
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

void slice(const KernelCall& kernel_call) {
  const Call<SliceArgs> call(kernel_call);
  const SliceArgs& args = call.args;
  call.ranges(call.n_rows(), row_grain(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      __builtin_memcpy(call.output(0) + t * args.width, call.input(0) + t * args.input_width + args.begin,
                       static_cast<size_t>(args.width) * sizeof(float));
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
