// Meaning of MLX's affine groups: a row's codes are one little-endian bit stream, code i at bits [i*b,
// (i+1)*b), for every width (established by experiment with mlx.core.quantize; see
// tools/fixtures/mlx_affine.py). Each group of columns has a scale s and a bias b in their own planes; a
// code's value is s*q + b, rounded once to f32.
#include <algorithm>
#include <cmath>

#include "tensor/decode.h"

namespace skua::decode {

void decode_affine_row(const Format& format, const std::array<const std::byte*, 3>& planes, int64_t col,
                       int64_t n, float* out) {
  const unsigned mask = (1u << format.bits) - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t group = (col + done) / format.group;
    const int64_t end = std::min(n, (group + 1) * format.group - col);
    const float scale = load_float(format.scale_type, planes[1], group);
    const float bias = load_float(format.scale_type, planes[2], group);
    for (; done < end; ++done) {
      const int64_t bit = (col + done) * format.bits;
      const std::byte* at = planes[0] + bit / 8;
      const unsigned shift = static_cast<unsigned>(bit % 8);
      unsigned window = std::to_integer<unsigned>(at[0]);
      if (shift + format.bits > 8) window |= std::to_integer<unsigned>(at[1]) << 8;
      out[done] = std::fma(scale, static_cast<float>((window >> shift) & mask), bias);
    }
  }
}

}  // namespace skua::decode
