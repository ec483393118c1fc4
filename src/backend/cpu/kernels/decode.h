// Weight rows in f32, decoded from their stored format 16 values at a time. The values are exactly those of
// tensor's decode_row().
#pragma once

#include "backend/cpu/kernels/simd.h"
#include "tensor/format.h"

namespace skua::cpu::SKUA_ISA {

/// One stored row: where it starts in each plane, and the affine parameters of its format.
struct StoredRow {
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;
  const std::byte* biases = nullptr;
  int64_t group = 0;
};

/// Decodes columns [0, cols) of a row to `out`. `cols` is a whole number of blocks. Reads at most 16 bytes
/// beyond the row's codes (pack() leaves room behind the last row).
using DecodeFn = void (*)(const StoredRow& row, int64_t cols, float* out);

/// The decoder of a format; every Format of tensor/format.h has one.
DecodeFn decoder(const Format& format);

}  // namespace skua::cpu::SKUA_ISA
