// Activation rows in int8: per 32 columns one scale amax/127, codes rounded to nearest even in [-127, 127]. A
// pure function of the row; a block below 2^-100 is zero. A block with a NaN or infinity gets scale NaN, so
// that it reaches every output.
#pragma once

#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/panels.h"

namespace skua::cpu::SKUA_ISA {

/// A quantized row: codes [k] and one meta per block.
struct QuantizedRow {
  int8_t* codes = nullptr;
  BlockMeta* metas = nullptr;

  QuantizedRow() = default;
  QuantizedRow(std::byte* at, int64_t k)
      : codes(reinterpret_cast<int8_t*>(at)), metas(reinterpret_cast<BlockMeta*>(at + k)) {}
};

/// Quantizes x[0, k); k is a multiple of 32.
void quantize_row(const float* x, int64_t k, const QuantizedRow& out);

}  // namespace skua::cpu::SKUA_ISA
