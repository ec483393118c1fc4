// The affine quantizer. Owns no policy about which tensors are quantized.
#include "tensor/encode_affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace skua {
namespace {

struct Line {
  float scale, offset;
};

Line fit(const float* x, int64_t n, float n_steps) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (int64_t i = 0; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  constexpr float kLeast = 1e-7f;
  const bool low_rules = std::fabs(low) > std::fabs(high);
  const float span = std::max((high - low) / n_steps, kLeast);
  const float scale = low_rules ? span : -span;
  const float edge = low_rules ? low : high;
  const float zero_code = std::rint(edge / scale);
  return zero_code == 0 ? Line{scale, 0.0f} : Line{edge / zero_code, edge};
}

void put_number(DType type, float value, std::byte* at) {
  const uint16_t half = type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
  if (type == DType::kF32) {
    std::memcpy(at, &value, 4);
  } else {
    std::memcpy(at, &half, 2);
  }
}

}  // namespace

void encode_affine_row(const Format& format, const float* values, int64_t cols, std::byte* codes,
                       std::byte* scales, std::byte* biases) {
  SKUA_CHECK(format.kind == FormatKind::kAffine && cols % format.group == 0);
  const int64_t size = dtype_bytes(format.scale_type);
  const auto n_steps = static_cast<float>((1 << format.bits) - 1);
  uint64_t window = 0;  // bits that are not written yet
  int n_bits = 0;
  for (int64_t g = 0; g < cols / format.group; ++g) {
    const float* x = values + g * format.group;
    const Line line = fit(x, format.group, n_steps);
    put_number(format.scale_type, line.scale, scales + g * size);
    put_number(format.scale_type, line.offset, biases + g * size);
    for (int64_t i = 0; i < format.group; ++i) {
      const float code = std::rint((x[i] - line.offset) / line.scale);
      window |= static_cast<uint64_t>(std::clamp(code, 0.0f, n_steps)) << n_bits;
      for (n_bits += format.bits; n_bits >= 8; n_bits -= 8, window >>= 8)
        *codes++ = static_cast<std::byte>(window);
    }
  }
}

}  // namespace skua
