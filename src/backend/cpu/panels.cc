// Repacking quantized weights into panels, once, at load.
#include "backend/cpu/panels.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/panel_source.h"
#include "base/math.h"

namespace skua::cpu {
namespace {

constexpr uint64_t kAlign = 64;

/// Writes one row's 32 codes to its place in a block: word v goes to vector v, or bits of it to a plane.
void put_codes(int bits, const BlockCodes& codes, int64_t row, std::byte* block) {
  const uint32_t* const words = codes.words;
  const auto put = [&](int64_t plane, uint32_t word) { std::memcpy(block + plane * 64 + row * 4, &word, 4); };
  if (bits == 8) {
    for (int64_t v = 0; v < 8; ++v) put(v, words[v]);
    return;
  }
  constexpr uint32_t kBit = 0x01010101u;  // the lowest of each byte
  const auto crumbs = [&](int64_t first_plane, int shift) {
    for (int64_t p = 0; p < 2; ++p) {
      uint32_t word = 0;
      for (int64_t j = 0; j < 4; ++j) word |= (words[4 * p + j] >> shift & 3 * kBit) << (2 * j);
      put(first_plane + p, word);
    }
  };
  const int low = bits >= 4 ? 4 : 2;  // bits of the first planes; the rest lie above them
  if (low == 4) {
    for (int64_t p = 0; p < 4; ++p) put(p, (words[p] & 15 * kBit) | (words[p + 4] & 15 * kBit) << 4);
  } else {
    crumbs(0, 0);
  }
  if (bits == 6) crumbs(4, 4);
  if (bits == low + 1) {
    uint32_t word = 0;
    for (int64_t v = 0; v < 8; ++v) word |= (words[v] >> low & kBit) << v;
    put(low == 4 ? 4 : 2, word);
  }
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
      return PanelFormat{.bits = 6, .centre = 32, .numbers = PanelNumbers::kSigned, .group_cols = 16};
    case FormatKind::kQ2_K:
      return PanelFormat{
          .bits = 2, .has_offset = true, .numbers = PanelNumbers::kScaleMin4, .group_cols = 16};
    case FormatKind::kQ3_K:
      return PanelFormat{.bits = 3, .centre = 4, .numbers = PanelNumbers::kSigned, .group_cols = 16};
    case FormatKind::kQ4_K:
      return PanelFormat{.bits = 4, .has_offset = true, .numbers = PanelNumbers::kScaleMin8};
    case FormatKind::kQ5_K:
      return PanelFormat{.bits = 5, .has_offset = true, .numbers = PanelNumbers::kScaleMin8};
    case FormatKind::kIQ4_NL:
      return PanelFormat{.codes = PanelCodes::kIq4};
    case FormatKind::kIQ4_XS:
      return PanelFormat{.numbers = PanelNumbers::kSigned, .codes = PanelCodes::kIq4};
    case FormatKind::kMxfp4Block:
    case FormatKind::kMxfp4:
      return PanelFormat{.numbers = PanelNumbers::kPower, .codes = PanelCodes::kTwiceE2m1};
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
  const PanelNumberBytes numbers = panel_number_bytes(panel);
  const bool super = panel.numbers != PanelNumbers::kGroups && panel.numbers != PanelNumbers::kPower;
  PackedWeight::Layout layout{.format = format, .rows = rows, .cols = cols};
  layout.plane_row_bytes[0] = blocks * static_cast<uint64_t>(panel_block_bytes(panel.bits));
  layout.plane_row_bytes[1] = static_cast<uint64_t>(cols / panel.group_cols * kPanelRows * numbers.second);
  layout.plane_row_bytes[2] =
      static_cast<uint64_t>(cols / (super ? kSuperCols : panel.group_cols) * kPanelRows * numbers.third);
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
      put_codes(shape.bits, read_codes(source.format, codes_from, b), r,
                planes[0] + b * panel_block_bytes(shape.bits));
    }
    put_numbers(source, shape, first + r, r, planes[1], planes[2]);
  }
}

}  // namespace skua::cpu
