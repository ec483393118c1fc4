// Values to MLX affine codes, with the choices that mlx makes.
#pragma once

#include "tensor/format.h"

namespace skua {

/// Quantizes one row of `cols` values to an affine format (group | cols). Per group: scale and offset span
/// the values, moved so that the end of larger magnitude is met exactly; codes are nearest (even on ties) to
/// the unrounded scale and offset, which are then stored as scale_type. `codes`, `scales`, `biases` get
/// plane_row_bytes bytes each. Source: mlx/backend/cpu/quantized.cpp, affine quantize (facts).
void encode_affine_row(const Format& format, const float* values, int64_t cols, std::byte* codes,
                       std::byte* scales, std::byte* biases);

}  // namespace skua
