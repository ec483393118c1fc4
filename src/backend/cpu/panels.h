// Kernel order of quantized weights for integer dot products. Sixteen rows form a panel, 32 columns a block
// (the group of activations that share a scale). Vector v (0..7) of a block is 64 bytes: columns 4v..4v+3 of
// row r in its bytes 4r..4r+3. Codes of 8 bits are stored as these vectors; narrower ones as planes of 64
// bytes:
//   nibbles  4 planes: the low half of plane p holds vector p, the high half vector p + 4
//   crumbs   2 planes: bits 2j, 2j+1 of plane p hold vector 4p + j
//   bits     1 plane:  bit v holds vector v
// 4 bits are nibbles, 5 nibbles and (above them) bits, 6 nibbles and crumbs, 2 crumbs, 3 crumbs and bits. A
// weight has three parts: codes and two of numbers (PanelNumbers); within each, panel after panel, and there
// 16 numbers after each other, one per row. Missing rows of the last panel are zero.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/backend.h"

namespace skua::cpu {

constexpr int64_t kPanelRows = 16;
constexpr int64_t kPanelCols = 32;

/// Where the scale (and offset) of a group of columns comes from: the second and the third part.
enum class PanelNumbers : uint8_t {
  kGroups,     // a scale per group; an offset per group, of formats that have one
  kSigned,     // Q3_K, Q6_K, IQ4_XS: an i8 per group; the f16 d of 256 columns. scale = d i8
  kScaleMin8,  // Q4_K, Q5_K: per group 16 bytes s, then 16 bytes m; per 256 columns the f16 d, then the f16
               // d_min of 16 rows. scale = d s, offset = -(d_min m)
  kScaleMin4,  // Q2_K: a byte per group, s low and m high; the third part as above
  kPower,      // MXFP4: a byte e per group; scale = 2^(e - 128)
};

/// What a code stands for.
enum class PanelCodes : uint8_t {
  kNumbers,    // itself
  kIq4,        // a number of IQ4's table
  kTwiceE2m1,  // twice an E2M1 number
};

/// How a format lies in panels. value = scale * (code - centre) (+ offset), or scale * table[code]; code is
/// unsigned.
struct PanelFormat {
  int bits = 4;
  int centre = 0;
  bool has_offset = false;
  PanelNumbers numbers = PanelNumbers::kGroups;
  PanelCodes codes = PanelCodes::kNumbers;
  DType scale_type = DType::kF16;
  int64_t group_cols = 32;
};

/// Empty for formats that have no panel form; they are decoded in the kernel.
std::optional<PanelFormat> panel_format(const Format& format);

constexpr int64_t kSuperCols = 256;  // that share d (and d_min)

/// PanelCodes::kIq4 and kTwiceE2m1. Sources: ggml's kvalues_iq4nl; OCP Microscaling Formats 1.0.
constexpr int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kTwiceE2m1Table[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

constexpr int64_t panel_block_bytes(int bits) { return kPanelRows * kPanelCols * bits / 8; }
constexpr int64_t n_panels(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

/// Bytes per row of the second part (of each group) and of the third (of each group, or each 256 columns
/// where sub-scales lie in the second).
struct PanelNumberBytes {
  int64_t second = 0;
  int64_t third = 0;
};
constexpr PanelNumberBytes panel_number_bytes(const PanelFormat& format) {
  const int64_t element = format.scale_type == DType::kF32 ? 4 : 2;
  switch (format.numbers) {
    case PanelNumbers::kSigned:
      return {1, 2};
    case PanelNumbers::kScaleMin8:
      return {2, 4};
    case PanelNumbers::kScaleMin4:
      return {1, 4};
    case PanelNumbers::kPower:
      return {1, 0};
    default:
      return {element, format.has_offset ? element : 0};
  }
}

/// Planes of a weight in panels: plane_row_bytes are bytes per panel. `bytes` gets the total.
PackedWeight::Layout panel_layout(const Format& format, int64_t rows, int64_t cols, uint64_t* bytes);

/// Writes panel `panel` of a weight. `base` is the buffer that `layout` describes.
void pack_panel(const EncodedMatrix& source, const PackedWeight::Layout& layout, int64_t panel,
                std::byte* base);

/// A quantized activation row is cut into runs of this many blocks (the last may be shorter), of which three
/// in sixteen, rounded up, are refined by a remainder (kernels/quantize.h).
constexpr int64_t kRunBlocks = 16;
constexpr int64_t refined_of_run(int64_t n_blocks) { return (3 * n_blocks + kRunBlocks - 1) / kRunBlocks; }
constexpr int64_t n_refined(int64_t n_blocks) {
  return n_blocks / kRunBlocks * refined_of_run(kRunBlocks) + refined_of_run(n_blocks % kRunBlocks);
}

/// Bytes of one quantized activation row: 32 codes and 5 numbers per block, and the same with the block's
/// number for each that is refined.
constexpr int64_t kQuantizedBlockBytes = kPanelCols + 20;
constexpr int64_t kRemainderBytes = kQuantizedBlockBytes + 4;
constexpr int64_t quantized_row_bytes(int64_t k) {
  const int64_t n_blocks = (k + kPanelCols - 1) / kPanelCols;
  return n_blocks * kQuantizedBlockBytes + n_refined(n_blocks) * kRemainderBytes;
}

}  // namespace skua::cpu
