// One row of a weight in panels, decoded.
#pragma once

#include "backend/cpu/kernels/call.h"

namespace skua::cpu::SKUA_ISA {

/// Writes row `row` of `table`, which lies in panels of `shape`, with the values that decode_row() gives.
void decode_panel_row(const PanelFormat& shape, const PlaneView& table, int64_t row, float* y);

}  // namespace skua::cpu::SKUA_ISA
