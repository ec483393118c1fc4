// Kernel order of quantized weights for integer dot products. Sixteen rows form a panel, 32 columns a block
// (the group of activations that share a scale). Vector v (0..7) of a block is 64 bytes: columns 4v..4v+3 of
// row r in its bytes 4r..4r+3. Codes of 8 bits are stored as these vectors; narrower ones as planes of 64
// bytes:
//   nibbles  4 planes: the low half of plane p holds vector p, the high half vector p + 4
//   crumbs   2 planes: bits 2j, 2j+1 of plane p hold vector 4p + j
//   bits     1 plane:  bit v holds vector v
// 4 bits are nibbles, 5 nibbles and (above them) bits, 6 nibbles and crumbs, 2 crumbs, 3 crumbs and bits. A
// weight has three parts: codes, scales, offsets; within each, panel after panel; scales and offsets: 16
// numbers per weight group. Missing rows of the last panel are zero.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/backend.h"

namespace skua::cpu {

constexpr int64_t kPanelRows = 16;
constexpr int64_t kPanelCols = 32;

/// How a format lies in panels. value = scale * (code - centre) (+ offset); code is unsigned. With sub-scales
/// (Q6_K) the second part holds an i8 per 16 columns and the third the f16 scale of 256 columns; their
/// product is the scale.
struct PanelFormat {
  int bits = 4;
  int centre = 0;
  bool has_offset = false;
  bool has_sub_scales = false;
  DType scale_type = DType::kF16;
  int64_t group_cols = 32;
};

/// Empty for formats that have no panel form; they are decoded in the kernel.
std::optional<PanelFormat> panel_format(const Format& format);

constexpr int64_t kSubScaleCols = 16;  // Q6_K
constexpr int64_t kSuperCols = 256;

constexpr int64_t panel_block_bytes(int bits) { return kPanelRows * kPanelCols * bits / 8; }
constexpr int64_t n_panels(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

/// Planes of a weight in panels: plane_row_bytes are bytes per panel. `bytes` gets the total.
PackedWeight::Layout panel_layout(const Format& format, int64_t rows, int64_t cols, uint64_t* bytes);

/// Writes panel `panel` of a weight. `base` is the buffer that `layout` describes.
void pack_panel(const EncodedMatrix& source, const PackedWeight::Layout& layout, int64_t panel,
                std::byte* base);

/// Bytes of one quantized activation row: per 32 columns two planes of bytes and 5 numbers
/// (kernels/quantize.h).
constexpr int64_t kQuantizedBlockBytes = 2 * kPanelCols + 20;
constexpr int64_t quantized_row_bytes(int64_t k) {
  return (k + kPanelCols - 1) / kPanelCols * kQuantizedBlockBytes;
}

}  // namespace skua::cpu
