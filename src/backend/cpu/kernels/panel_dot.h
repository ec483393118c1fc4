// Products of a panel (16 weight rows) with quantized activation rows. Per output and block of 32 columns (of
// formats with scales per 16 columns: each half of it): y = fma(offset, x.sum, y) if the format has offsets,
// then y = fma(dot, scale * x.scale, y). The blocks of a run go first, in ascending order, then the run's
// remainders likewise (quantize.h); then comes the next run. One arithmetic for any number of activation
// rows.
#pragma once

#include "backend/cpu/kernels/quantize.h"
#include "backend/cpu/kernels/simd_dot.h"

namespace skua::cpu::SKUA_ISA {

/// One panel of a weight in kernel order.
struct Panel {
  const std::byte* codes = nullptr;
  const std::byte* scales = nullptr;   // the second part (PanelNumbers)
  const std::byte* offsets = nullptr;  // the third
  int64_t n_blocks = 0;
  int64_t group_blocks = 1;  // blocks that share a scale
};

/// Products with one tile of quantized rows: out[t * kPanelRows + r].
using PanelFn = void (*)(const Panel& panel, const std::byte* tile, float* out);

/// The kernels of a format for tiles of 1, 2, 4 and 8 rows.
struct PanelKernels {
  PanelFn by_rows[9] = {};  // [rows of the tile]
};
const PanelKernels& panel_kernels(const PanelFormat& format);

}  // namespace skua::cpu::SKUA_ISA
