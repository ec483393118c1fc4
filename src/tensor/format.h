// Storage formats of weights, each described once: block geometry, planes, and how a code becomes a value.
// A logical weight is a matrix [rows, cols] (a vector has rows = 1); every format encodes rows independently.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace skua {

enum class FormatKind : uint8_t {
  // Plain elements.
  kF32,
  kF16,
  kBF16,
  // GGUF blocks: scales inside the block, one plane.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMxfp4Block,
  // MLX: planes codes (u32 words), scales, biases.
  kAffine,
  // OCP MXFP4 in two planes: codes (nibbles, the even column low), scales (u8).
  kMxfp4,
};

/// A format with its parameters. Value of a code q: plain: the element; kQ4_0 d(q-8); kQ4_1 dq+m; kQ5_0
/// d(q-16); kQ5_1 dq+m; kQ8_0 dq; kQ6_K (d s_i)(q-32); kQ2_K, kQ4_K, kQ5_K (d s_i)q - (m m_i); kQ3_K
/// (d s_i)(q-4); kIQ4_NL d t[q]; kIQ4_XS (d s_i)t[q]; kMxfp4Block, kMxfp4: 2^(e-127) times the E2M1 number q,
/// a scale byte of 255 is NaN; kAffine sq+b. The exact value is rounded once, to f32 (fma). Sources: GGUF
/// specification and block layouts of ggml (facts); MLX quantize/dequantize documentation; OCP Microscaling
/// Formats 1.0.
struct Format {
  FormatKind kind = FormatKind::kF32;
  uint8_t bits = 0;                // kAffine: 2, 3, 4, 5, 6, 8
  uint16_t group = 0;              // kAffine: 32, 64, 128 columns share a scale and bias
  DType scale_type = DType::kF32;  // kAffine: element type of scales and biases (f32, f16, bf16)

  bool operator==(const Format&) const = default;
  bool is_plain() const { return kind <= FormatKind::kBF16; }
};

/// The plain format of kF32, kF16 or kBF16 (SKUA_CHECK for others).
Format plain_format(DType type);

/// "f32", "q4_1", "affine4g64:bf16": for printing and error texts.
std::string format_name(const Format& format);

/// Columns that share one block (1 for plain formats, 32, 256, or the affine group).
int64_t block_cols(const Format& format);

/// Bytes of plane `plane` (0 codes, 1 scales, 2 biases) for one row of `cols` columns; cols must be a
/// multiple of block_cols (SKUA_CHECK). Planes that the format does not have are 0.
uint64_t plane_row_bytes(const Format& format, int plane, int64_t cols);

/// Bytes of one row over all planes.
uint64_t row_bytes(const Format& format, int64_t cols);

/// A weight matrix as its file stores it. Does not own its bytes; the checkpoint does.
struct EncodedMatrix {
  Format format;
  int64_t rows = 0;
  int64_t cols = 0;
  std::array<const std::byte*, 3> planes{};    // codes, scales, biases; unaligned
  std::array<uint64_t, 3> row_stride_bytes{};  // distance of rows within each plane
  std::vector<uint32_t> row_map;               // logical row -> stored row; empty = identity

  /// Rows that lie in several places (a tensor per expert): stored row r is row r % place_rows of places[r /
  /// place_rows]. Empty: all lie in `planes`.
  std::vector<std::array<const std::byte*, 3>> places;
  int64_t place_rows = 0;

  const std::byte* row_plane(int plane, int64_t row) const {
    uint64_t stored = row_map.empty() ? static_cast<uint64_t>(row) : row_map[static_cast<size_t>(row)];
    if (!places.empty()) {
      const auto at = static_cast<size_t>(stored / static_cast<uint64_t>(place_rows));
      stored %= static_cast<uint64_t>(place_rows);
      return places[at][static_cast<size_t>(plane)] + stored * row_stride_bytes[static_cast<size_t>(plane)];
    }
    return planes[static_cast<size_t>(plane)] + stored * row_stride_bytes[static_cast<size_t>(plane)];
  }
};

/// Decodes columns [col, col + n) of one logical row into f32, one rounding per value (see Format). `col` and
/// `n` need not lie at block borders. This is the meaning of every format; kernels are judged against it.
void decode_row(const EncodedMatrix& matrix, int64_t row, int64_t col, int64_t n, float* out);

}  // namespace skua
