// Geometry and names of the weight formats, and decode_row, which chooses the decoder. The meaning of each
// group of formats lies in decode_*.cc.
#include "tensor/format.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/decode.h"

namespace skua {
namespace {

DType plain_type(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF32:
      return DType::kF32;
    case FormatKind::kF16:
      return DType::kF16;
    default:
      SKUA_CHECK(kind == FormatKind::kBF16);
      return DType::kBF16;
  }
}

std::string_view kind_name(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF32:
      return "f32";
    case FormatKind::kF16:
      return "f16";
    case FormatKind::kBF16:
      return "bf16";
    case FormatKind::kQ4_0:
      return "q4_0";
    case FormatKind::kQ4_1:
      return "q4_1";
    case FormatKind::kQ5_0:
      return "q5_0";
    case FormatKind::kQ5_1:
      return "q5_1";
    case FormatKind::kQ8_0:
      return "q8_0";
    case FormatKind::kQ2_K:
      return "q2_k";
    case FormatKind::kQ3_K:
      return "q3_k";
    case FormatKind::kQ4_K:
      return "q4_k";
    case FormatKind::kQ5_K:
      return "q5_k";
    case FormatKind::kQ6_K:
      return "q6_k";
    case FormatKind::kIQ4_NL:
      return "iq4_nl";
    case FormatKind::kIQ4_XS:
      return "iq4_xs";
    case FormatKind::kMxfp4Block:
      return "mxfp4:block";
    case FormatKind::kMxfp4:
      return "mxfp4";
    case FormatKind::kAffine:
      return "affine";
  }
  return "?";
}

void decode_blocks(FormatKind kind, const std::byte* row, int64_t col, int64_t n, float* out) {
  const decode::BlockGeometry block = decode::gguf_block(kind);
  float values[256];
  for (const int64_t end = col + n; col < end;) {
    const std::byte* at = row + static_cast<uint64_t>(col / block.cols) * block.bytes;
    const int64_t first = col % block.cols;
    const int64_t count = std::min(block.cols - first, end - col);
    if (count == block.cols) {
      decode::decode_gguf_block(kind, at, out);
    } else {
      decode::decode_gguf_block(kind, at, values);
      std::copy_n(values + first, count, out);
    }
    out += count;
    col += count;
  }
}

}  // namespace

Format plain_format(DType type) {
  switch (type) {
    case DType::kF32:
      return {FormatKind::kF32};
    case DType::kF16:
      return {FormatKind::kF16};
    default:
      SKUA_CHECK(type == DType::kBF16);
      return {FormatKind::kBF16};
  }
}

std::string format_name(const Format& format) {
  std::string name(kind_name(format.kind));
  if (format.kind != FormatKind::kAffine) return name;
  return name + std::to_string(format.bits) + "g" + std::to_string(format.group) + ":" +
         std::string(dtype_name(format.scale_type));
}

int64_t block_cols(const Format& format) {
  if (format.is_plain()) return 1;
  if (format.kind == FormatKind::kAffine) return format.group;
  if (format.kind == FormatKind::kMxfp4) return decode::kMxfp4Cols;
  return decode::gguf_block(format.kind).cols;
}

uint64_t plane_row_bytes(const Format& format, int plane, int64_t cols) {
  SKUA_CHECK(plane >= 0 && plane < 3 && cols >= 0);
  SKUA_CHECK_EQ(cols % block_cols(format), 0);
  const auto n = static_cast<uint64_t>(cols);
  if (format.kind == FormatKind::kAffine) {
    if (plane == 0) return n / 8 * format.bits;
    return n / format.group * dtype_bytes(format.scale_type);
  }
  if (format.kind == FormatKind::kMxfp4) return plane == 0 ? n / 2 : plane == 1 ? n / decode::kMxfp4Cols : 0;
  if (plane != 0) return 0;
  if (format.is_plain()) return n * dtype_bytes(plain_type(format.kind));
  const decode::BlockGeometry block = decode::gguf_block(format.kind);
  return n / static_cast<uint64_t>(block.cols) * block.bytes;
}

uint64_t row_bytes(const Format& format, int64_t cols) {
  return plane_row_bytes(format, 0, cols) + plane_row_bytes(format, 1, cols) +
         plane_row_bytes(format, 2, cols);
}

void decode_row(const EncodedMatrix& matrix, int64_t row, int64_t col, int64_t n, float* out) {
  SKUA_CHECK(row >= 0 && row < matrix.rows);
  SKUA_CHECK(col >= 0 && n >= 0 && col <= matrix.cols && n <= matrix.cols - col);
  if (n == 0) return;
  const std::byte* codes = matrix.row_plane(0, row);
  if (matrix.format.is_plain()) {
    const DType type = plain_type(matrix.format.kind);
    for (int64_t i = 0; i < n; ++i) out[i] = decode::load_float(type, codes, col + i);
  } else if (matrix.format.kind == FormatKind::kAffine) {
    decode::decode_affine_row(matrix.format, {codes, matrix.row_plane(1, row), matrix.row_plane(2, row)}, col,
                              n, out);
  } else if (matrix.format.kind == FormatKind::kMxfp4) {
    decode::decode_mxfp4_row(codes, matrix.row_plane(1, row), col, n, out);
  } else {
    decode_blocks(matrix.format.kind, codes, col, n, out);
  }
}

}  // namespace skua
