// Inside src/tensor: the decoders of one block or one row, per group of formats. format.cc chooses among
// them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/format.h"

namespace skua::decode {

static_assert(std::endian::native == std::endian::little,
              "files hold little-endian numbers and are read in place");

/// Reads an unaligned number.
template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Element `i` of an array of f32, f16 or bf16.
inline float load_float(DType type, const std::byte* bytes, int64_t i) {
  switch (type) {
    case DType::kF32:
      return load<float>(bytes + 4 * i);
    case DType::kF16:
      return f16_to_f32(load<uint16_t>(bytes + 2 * i));
    default:
      return bf16_to_f32(load<uint16_t>(bytes + 2 * i));
  }
}

/// Columns and bytes of one GGUF block; zeros for formats of other groups.
struct BlockGeometry {
  int64_t cols = 0;
  uint64_t bytes = 0;
};
BlockGeometry gguf_block(FormatKind kind);

/// Decodes one whole GGUF block: writes gguf_block(kind).cols floats.
void decode_gguf_block(FormatKind kind, const std::byte* block, float* out);

/// Columns [col, col + n) of one affine row; the three pointers are the row's start in each plane.
void decode_affine_row(const Format& format, const std::array<const std::byte*, 3>& planes, int64_t col,
                       int64_t n, float* out);

constexpr int64_t kMxfp4Cols = 32;  // that share a scale

/// Columns [col, col + n) of one row of kMxfp4.
void decode_mxfp4_row(const std::byte* codes, const std::byte* scales, int64_t col, int64_t n, float* out);

/// Twice the E2M1 number that a code of four bits stands for: an integer. The sign of zero is lost.
int mxfp4_twice(int code);

/// Half of the E8M0 number `e`, 2^(e-128): the factor of mxfp4_twice. 255 is NaN.
float mxfp4_half_scale(uint8_t e);

}  // namespace skua::decode
