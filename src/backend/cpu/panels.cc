// Repacking quantized weights into panels, once, at load.
#include "backend/cpu/panels.h"

#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/math.h"

namespace skua::cpu {
namespace {

constexpr uint64_t kAlign = 64;

uint8_t byte_at(const std::byte* p, int64_t i) { return std::to_integer<uint8_t>(p[i]); }

/// The 32 codes of block `block` of one row, unsigned.
void read_codes(const Format& format, const std::byte* row, int64_t block, uint8_t* out) {
  switch (format.kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kQ4_1: {
      const bool minimum = format.kind == FormatKind::kQ4_1;
      const std::byte* at = row + block * (minimum ? 20 : 18) + (minimum ? 4 : 2);
      for (int64_t i = 0; i < 16; ++i) {
        out[i] = byte_at(at, i) & 15;
        out[16 + i] = byte_at(at, i) >> 4;
      }
      return;
    }
    case FormatKind::kQ8_0:
      for (int64_t i = 0; i < 32; ++i) out[i] = byte_at(row + block * 34 + 2, i) ^ 0x80;
      return;
    default:
      break;
  }
  if (format.bits == 8) {
    std::memcpy(out, row + block * 32, 32);
    return;
  }
  for (int64_t i = 0; i < 16; ++i) {
    out[2 * i] = byte_at(row + block * 16, i) & 15;
    out[2 * i + 1] = byte_at(row + block * 16, i) >> 4;
  }
}

/// Writes one row's 32 codes to its place in a block.
void put_codes(int bits, const uint8_t* codes, int64_t row, std::byte* block) {
  if (bits == 8) {
    for (int64_t v = 0; v < 8; ++v) std::memcpy(block + v * 64 + row * 4, codes + 4 * v, 4);
    return;
  }
  for (int64_t v = 0; v < 4; ++v) {
    uint8_t both[4];
    for (int64_t i = 0; i < 4; ++i)
      both[i] = static_cast<uint8_t>(codes[4 * v + i] | codes[16 + 4 * v + i] << 4);
    std::memcpy(block + v * 64 + row * 4, both, 4);
  }
}

/// Where the scale (plane 1) or offset (plane 2) of group `group` lies in the source.
const std::byte* number_at(const EncodedMatrix& source, int plane, int64_t row, int64_t group,
                           uint64_t size) {
  switch (source.format.kind) {
    case FormatKind::kQ4_0:
      return source.row_plane(0, row) + group * 18;
    case FormatKind::kQ4_1:
      return source.row_plane(0, row) + group * 20 + (plane == 2 ? 2 : 0);
    case FormatKind::kQ8_0:
      return source.row_plane(0, row) + group * 34;
    default:
      return source.row_plane(plane, row) + static_cast<uint64_t>(group) * size;
  }
}

}  // namespace

std::optional<PanelFormat> panel_format(const Format& format) {
  switch (format.kind) {
    case FormatKind::kQ4_0:
      return PanelFormat{.bits = 4, .centre = 8};
    case FormatKind::kQ4_1:
      return PanelFormat{.bits = 4, .has_offset = true};
    case FormatKind::kQ8_0:
      return PanelFormat{.bits = 8, .centre = 128};
    case FormatKind::kAffine:
      if (format.bits != 4 && format.bits != 8) return std::nullopt;
      return PanelFormat{.bits = format.bits,
                         .has_offset = true,
                         .scale_type = format.scale_type,
                         .group_cols = format.group};
    default:
      return std::nullopt;
  }
}

PackedWeight::Layout panel_layout(const Format& format, int64_t rows, int64_t cols, uint64_t* bytes) {
  const PanelFormat panel = *panel_format(format);
  const auto blocks = static_cast<uint64_t>(cols / kPanelCols);
  const uint64_t numbers =
      static_cast<uint64_t>(cols / panel.group_cols) * kPanelRows * dtype_bytes(panel.scale_type);
  PackedWeight::Layout layout{.format = format, .rows = rows, .cols = cols};
  layout.plane_row_bytes[0] = blocks * static_cast<uint64_t>(panel_block_bytes(panel.bits));
  layout.plane_row_bytes[1] = numbers;
  layout.plane_row_bytes[2] = panel.has_offset ? numbers : 0;
  *bytes = 0;
  for (int plane = 0; plane < 3; ++plane) {
    layout.plane_offset[plane] = *bytes;
    *bytes = round_up(*bytes + static_cast<uint64_t>(n_panels(rows)) * layout.plane_row_bytes[plane], kAlign);
  }
  return layout;
}

void pack_panel(const EncodedMatrix& source, const PackedWeight::Layout& layout, int64_t panel,
                std::byte* base) {
  const PanelFormat shape = *panel_format(source.format);
  const uint64_t size = dtype_bytes(shape.scale_type);
  std::byte* planes[3];
  for (int plane = 0; plane < 3; ++plane) {
    planes[plane] =
        base + layout.plane_offset[plane] + static_cast<uint64_t>(panel) * layout.plane_row_bytes[plane];
  }
  const int64_t first = panel * kPanelRows;
  const int64_t n_rows = std::min(kPanelRows, source.rows - first);
  if (n_rows < kPanelRows) {
    for (int plane = 0; plane < 3; ++plane) std::memset(planes[plane], 0, layout.plane_row_bytes[plane]);
  }
  for (int64_t r = 0; r < n_rows; ++r) {
    const std::byte* codes_from = source.row_plane(0, first + r);
    for (int64_t b = 0; b < source.cols / kPanelCols; ++b) {
      uint8_t codes[kPanelCols];
      read_codes(source.format, codes_from, b, codes);
      put_codes(shape.bits, codes, r, planes[0] + b * panel_block_bytes(shape.bits));
    }
    for (int plane = 1; plane < (shape.has_offset ? 3 : 2); ++plane) {
      for (int64_t g = 0; g < source.cols / shape.group_cols; ++g) {
        std::memcpy(planes[plane] + static_cast<uint64_t>(g * kPanelRows + r) * size,
                    number_at(source, plane, first + r, g, size), size);
      }
    }
  }
}

}  // namespace skua::cpu
