// Repacking quantized weights into panels, once, at load.
#include "backend/cpu/panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/math.h"

namespace skua::cpu {
namespace {

constexpr uint64_t kAlign = 64;

uint8_t byte_at(const std::byte* p, int64_t i) { return std::to_integer<uint8_t>(p[i]); }

struct BlockFields {
  int64_t bytes, high, codes;  // of a GGUF block, its word of fifth bits, its nibbles or bytes
};

BlockFields block_fields(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ4_0:
      return {18, 0, 2};
    case FormatKind::kQ4_1:
      return {20, 0, 4};
    case FormatKind::kQ5_0:
      return {22, 2, 6};
    case FormatKind::kQ5_1:
      return {24, 4, 8};
    default:
      return {34, 0, 2};  // kQ8_0
  }
}

/// Eight of our blocks make one of Q6_K: two halves of four quarters of 32 columns (tensor/decode_gguf.cc).
constexpr int64_t kQ6Bytes = 210, kQ6Scales = 192, kQ6Scale = 208;
void read_q6_k(const std::byte* row, int64_t block, uint8_t* out) {
  const std::byte* at = row + block / 8 * kQ6Bytes;
  const int64_t half = block % 8 / 4, quarter = block % 4;
  for (int64_t i = 0; i < kPanelCols; ++i) {
    const unsigned low = byte_at(at, half * 64 + quarter % 2 * 32 + i) >> (quarter / 2 * 4) & 15;
    const unsigned high = byte_at(at, 128 + half * 32 + i) >> (quarter * 2) & 3;
    out[i] = static_cast<uint8_t>(low | high << 4);
  }
}

/// The 32 codes of block `block` of one row, unsigned.
void read_codes(const Format& format, const std::byte* row, int64_t block, uint8_t* out) {
  if (format.kind == FormatKind::kAffine) {
    const std::byte* at = row + block * kPanelCols * format.bits / 8;
    const unsigned mask = (1u << format.bits) - 1;
    for (int64_t i = 0; i < kPanelCols; ++i) {
      const int64_t bit = i * format.bits;
      unsigned window = byte_at(at, bit / 8);
      if (bit % 8 + format.bits > 8) window |= static_cast<unsigned>(byte_at(at, bit / 8 + 1)) << 8;
      out[i] = static_cast<uint8_t>(window >> (bit % 8) & mask);
    }
    return;
  }
  if (format.kind == FormatKind::kQ6_K) {
    read_q6_k(row, block, out);
    return;
  }
  const BlockFields fields = block_fields(format.kind);
  const std::byte* at = row + block * fields.bytes;
  if (format.kind == FormatKind::kQ8_0) {
    for (int64_t i = 0; i < kPanelCols; ++i) out[i] = byte_at(at + fields.codes, i) ^ 0x80;
    return;
  }
  for (int64_t i = 0; i < 16; ++i) {
    out[i] = byte_at(at + fields.codes, i) & 15;
    out[16 + i] = byte_at(at + fields.codes, i) >> 4;
  }
  if (fields.high == 0) return;
  for (int64_t i = 0; i < kPanelCols; ++i) {
    out[i] = static_cast<uint8_t>(out[i] | (byte_at(at + fields.high, i / 8) >> (i % 8) & 1) << 4);
  }
}

/// Writes one row's 32 codes to its place in a block.
void put_codes(int bits, const uint8_t* codes, int64_t row, std::byte* block) {
  const auto code = [&](int64_t v, int64_t i) -> unsigned { return codes[4 * v + i]; };
  const auto put = [&](int64_t plane, int64_t i, unsigned byte) {
    block[plane * 64 + row * 4 + i] = static_cast<std::byte>(byte);
  };
  for (int64_t i = 0; i < 4; ++i) {
    if (bits == 8) {
      for (int64_t v = 0; v < 8; ++v) put(v, i, code(v, i));
      continue;
    }
    const int low = bits >= 4 ? 4 : 2;  // bits of the first planes; the rest lie above them
    const auto crumbs = [&](int64_t first_plane, int shift) {
      for (int64_t p = 0; p < 2; ++p) {
        unsigned byte = 0;
        for (int64_t j = 0; j < 4; ++j) byte |= (code(4 * p + j, i) >> shift & 3) << (2 * j);
        put(first_plane + p, i, byte);
      }
    };
    if (low == 4) {
      for (int64_t p = 0; p < 4; ++p) put(p, i, (code(p, i) & 15) | (code(p + 4, i) & 15) << 4);
    } else {
      crumbs(0, 0);
    }
    if (bits == 6) crumbs(4, 4);
    if (bits == low + 1) {
      unsigned byte = 0;
      for (int64_t v = 0; v < 8; ++v) byte |= (code(v, i) >> low & 1) << v;
      put(low == 4 ? 4 : 2, i, byte);
    }
  }
}

/// The same for formats whose bytes already lie as a panel wants them: 4-bit GGUF blocks (whose nibbles are
/// those of panels) and 8-bit codes. False for the others.
bool copy_codes(const Format& format, const std::byte* row, int64_t n_blocks, std::byte* to) {
  const bool affine = format.kind == FormatKind::kAffine;
  const bool bytes = format.kind == FormatKind::kQ8_0 || (affine && format.bits == 8);
  if (!bytes && format.kind != FormatKind::kQ4_0 && format.kind != FormatKind::kQ4_1) return false;
  const BlockFields fields = affine ? BlockFields{32, 0, 0} : block_fields(format.kind);
  const int64_t words = bytes ? 8 : 4;
  const uint32_t flip = format.kind == FormatKind::kQ8_0 ? 0x80808080u : 0u;
  for (int64_t b = 0; b < n_blocks; ++b) {
    for (int64_t v = 0; v < words; ++v) {
      uint32_t word;
      std::memcpy(&word, row + b * fields.bytes + fields.codes + 4 * v, 4);
      word ^= flip;
      std::memcpy(to + (b * words + v) * 64, &word, 4);
    }
  }
  return true;
}

/// Where the scale (plane 1) or offset (plane 2) of group `group` lies in the source.
const std::byte* number_at(const EncodedMatrix& source, int plane, int64_t row, int64_t group,
                           uint64_t size) {
  if (source.format.kind == FormatKind::kAffine) {
    return source.row_plane(plane, row) + static_cast<uint64_t>(group) * size;
  }
  return source.row_plane(0, row) + group * block_fields(source.format.kind).bytes + (plane == 2 ? 2 : 0);
}

}  // namespace

std::optional<PanelFormat> panel_format(const Format& format) {
  switch (format.kind) {
    case FormatKind::kQ4_0:
      return PanelFormat{.bits = 4, .centre = 8};
    case FormatKind::kQ4_1:
      return PanelFormat{.bits = 4, .has_offset = true};
    case FormatKind::kQ5_0:
      return PanelFormat{.bits = 5, .centre = 16};
    case FormatKind::kQ5_1:
      return PanelFormat{.bits = 5, .has_offset = true};
    case FormatKind::kQ8_0:
      return PanelFormat{.bits = 8, .centre = 128};
    case FormatKind::kQ6_K:
      return PanelFormat{.bits = 6, .centre = 32, .has_sub_scales = true, .group_cols = kSubScaleCols};
    case FormatKind::kAffine:
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
  if (panel.has_sub_scales) {
    layout.plane_row_bytes[1] = static_cast<uint64_t>(cols / kSubScaleCols * kPanelRows);
    layout.plane_row_bytes[2] = static_cast<uint64_t>(cols / kSuperCols * kPanelRows) * 2;
  }
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
    const int64_t n_blocks = source.cols / kPanelCols;
    const bool copied = copy_codes(source.format, codes_from, n_blocks, planes[0] + r * 4);
    for (int64_t b = 0; !copied && b < n_blocks; ++b) {
      uint8_t codes[kPanelCols];
      read_codes(source.format, codes_from, b, codes);
      put_codes(shape.bits, codes, r, planes[0] + b * panel_block_bytes(shape.bits));
    }
    if (shape.has_sub_scales) {
      for (int64_t g = 0; g < source.cols / kSubScaleCols; ++g) {
        planes[1][g * kPanelRows + r] = codes_from[g / 16 * kQ6Bytes + kQ6Scales + g % 16];
      }
      for (int64_t g = 0; g < source.cols / kSuperCols; ++g) {
        std::memcpy(planes[2] + (g * kPanelRows + r) * 2, codes_from + g * kQ6Bytes + kQ6Scale, 2);
      }
      continue;
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
