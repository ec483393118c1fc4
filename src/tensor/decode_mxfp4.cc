// Meaning of MXFP4: 32 columns share an E8M0 scale 2^(e-127); a code is an E2M1 number, of which twice is an
// integer, so every product is exact. Source: OCP Microscaling Formats (MX) 1.0, tables of E2M1 and E8M0.
#include <cmath>
#include <limits>

#include "tensor/decode.h"

namespace skua::decode {

int mxfp4_twice(int code) {
  constexpr int kMagnitudes[8] = {0, 1, 2, 3, 4, 6, 8, 12};
  const int magnitude = kMagnitudes[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

float mxfp4_half_scale(uint8_t e) {
  if (e == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, e - 128);
}

void decode_mxfp4_row(const std::byte* codes, const std::byte* scales, int64_t col, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i, ++col) {
    const int byte = std::to_integer<int>(codes[col / 2]);
    const int code = col % 2 == 0 ? byte & 15 : byte >> 4;
    out[i] =
        mxfp4_half_scale(load<uint8_t>(scales + col / kMxfp4Cols)) * static_cast<float>(mxfp4_twice(code));
  }
}

}  // namespace skua::decode
