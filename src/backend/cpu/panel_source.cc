// Reading stored rows for panels. The layouts are those of tensor/decode_gguf.cc and decode_k_quants.cc.
#include "backend/cpu/panel_source.h"

#include <cstring>

#include "tensor/decode_k_quants.h"

namespace skua::cpu {
namespace {

uint8_t byte_at(const std::byte* p, int64_t i) { return std::to_integer<uint8_t>(p[i]); }

/// The byte in each byte of a word.
constexpr uint32_t each(uint32_t byte) { return byte * 0x01010101u; }

uint32_t word_at(const std::byte* p, int64_t v) { return decode::load<uint32_t>(p + 4 * v); }

struct BlockFields {
  int64_t bytes, high, codes;  // of a GGUF block, its word of fifth bits, its nibbles or bytes
};

BlockFields block_fields(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kIQ4_NL:
      return {18, 0, 2};
    case FormatKind::kQ4_1:
      return {20, 0, 4};
    case FormatKind::kQ5_0:
      return {22, 2, 6};
    case FormatKind::kQ5_1:
      return {24, 4, 8};
    case FormatKind::kMxfp4Block:
      return {17, 0, 1};
    default:
      return {34, 0, 2};  // kQ8_0
  }
}

/// Code i lies at bits [i * bits, (i + 1) * bits) of `at`.
BlockCodes stream_codes(const std::byte* at, int bits) {
  const unsigned mask = (1u << bits) - 1;
  BlockCodes out{};
  for (int64_t i = 0; i < kPanelCols; ++i) {
    const int64_t bit = i * bits;
    unsigned window = byte_at(at, bit / 8);
    if (bit % 8 + bits > 8) window |= static_cast<unsigned>(byte_at(at, bit / 8 + 1)) << 8;
    out.words[i / 4] |= (window >> (bit % 8) & mask) << (i % 4 * 8);
  }
  return out;
}

/// Sixteen bytes: their low halves, then their high ones.
BlockCodes nibble_codes(const std::byte* at) {
  BlockCodes out;
  for (int64_t v = 0; v < 4; ++v) {
    out.words[v] = word_at(at, v) & each(15);
    out.words[v + 4] = word_at(at, v) >> 4 & each(15);
  }
  return out;
}

/// A field of `bits` bits in each of 32 bytes, from bit `shift` on.
BlockCodes field_codes(const std::byte* at, int64_t shift, int bits) {
  BlockCodes out;
  for (int64_t v = 0; v < 8; ++v) out.words[v] = word_at(at, v) >> shift & each((1u << bits) - 1);
  return out;
}

/// Codes whose higher bits lie apart, to be moved up by `shift`.
BlockCodes with_high(BlockCodes low, const BlockCodes& high, int shift) {
  for (int64_t v = 0; v < 8; ++v) low.words[v] |= high.words[v] << shift;
  return low;
}

/// Blocks of 256 columns; our block is sub-block j of eight.
BlockCodes k_codes(FormatKind kind, const std::byte* at, int64_t j) {
  const int64_t half = j / 4, quarter = j % 4;
  switch (kind) {
    case FormatKind::kQ2_K:
      return field_codes(at + 16 + half * 32, quarter * 2, 2);
    case FormatKind::kQ3_K:
      return with_high(field_codes(at + 32 + half * 32, quarter * 2, 2), field_codes(at, j, 1), 2);
    case FormatKind::kQ4_K:
      return field_codes(at + 16 + j / 2 * 32, j % 2 * 4, 4);
    case FormatKind::kQ5_K:
      return with_high(field_codes(at + 48 + j / 2 * 32, j % 2 * 4, 4), field_codes(at + 16, j, 1), 4);
    case FormatKind::kQ6_K:
      return with_high(field_codes(at + half * 64 + quarter % 2 * 32, quarter / 2 * 4, 4),
                       field_codes(at + 128 + half * 32, quarter * 2, 2), 4);
    default:
      return nibble_codes(at + 8 + 16 * j);  // kIQ4_XS
  }
}

/// Sub-scale of group g of a block of 256 columns, formats of PanelNumbers::kSigned.
int signed_scale(FormatKind kind, const std::byte* at, int g) {
  switch (kind) {
    case FormatKind::kQ3_K:
      return decode::q3_sub_scale(at + 96, g);
    case FormatKind::kQ6_K:
      return decode::load<int8_t>(at + 192 + g);
    default:
      return decode::iq4_sub_scale(at, g);
  }
}

/// Where d lies in a block of 256 columns; d_min follows it.
int64_t super_scale_at(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ2_K:
      return 80;
    case FormatKind::kQ3_K:
      return 108;
    case FormatKind::kQ6_K:
      return 208;
    default:
      return 0;
  }
}

/// Numbers of one block of 256 columns.
void put_super_block(FormatKind kind, const PanelFormat& shape, const std::byte* at, int64_t r,
                     std::byte* second, std::byte* third) {
  const auto n_groups = static_cast<int>(kSuperCols / shape.group_cols);
  for (int g = 0; g < n_groups; ++g) {
    if (shape.numbers == PanelNumbers::kSigned) {
      second[g * kPanelRows + r] = static_cast<std::byte>(signed_scale(kind, at, g));
    } else if (shape.numbers == PanelNumbers::kScaleMin4) {
      second[g * kPanelRows + r] = at[g];
    } else {
      const decode::SubScale sub = decode::k4_sub_scale(at + 4, g);
      second[2 * g * kPanelRows + r] = static_cast<std::byte>(sub.scale);
      second[(2 * g + 1) * kPanelRows + r] = static_cast<std::byte>(sub.minimum);
    }
  }
  const std::byte* numbers = at + super_scale_at(kind);
  std::memcpy(third + 2 * r, numbers, 2);
  if (shape.has_offset) std::memcpy(third + 2 * (kPanelRows + r), numbers + 2, 2);
}

/// Where the scale (plane 1) or offset (plane 2) of group `group` lies in the source.
const std::byte* number_at(const EncodedMatrix& source, int plane, int64_t row, int64_t group, int64_t size) {
  if (source.format.kind == FormatKind::kAffine || source.format.kind == FormatKind::kMxfp4)
    return source.row_plane(plane, row) + group * size;
  return source.row_plane(0, row) + group * block_fields(source.format.kind).bytes + (plane == 2 ? 2 : 0);
}

}  // namespace

BlockCodes read_codes(const Format& format, const std::byte* row, int64_t block) {
  if (format.kind == FormatKind::kAffine) {
    return stream_codes(row + block * kPanelCols * format.bits / 8, format.bits);
  }
  if (format.kind == FormatKind::kMxfp4) return stream_codes(row + block * kPanelCols / 2, 4);
  if (block_cols(format) == kSuperCols) {
    constexpr int64_t kBlocks = kSuperCols / kPanelCols;
    const auto bytes = static_cast<int64_t>(row_bytes(format, kSuperCols));
    return k_codes(format.kind, row + block / kBlocks * bytes, block % kBlocks);
  }
  const BlockFields fields = block_fields(format.kind);
  const std::byte* at = row + block * fields.bytes;
  BlockCodes out = nibble_codes(at + fields.codes);
  if (fields.high != 0) out = with_high(out, stream_codes(at + fields.high, 1), 4);
  return out;
}

bool copy_codes(const Format& format, const std::byte* row, int64_t n_blocks, std::byte* to) {
  const bool affine = format.kind == FormatKind::kAffine;
  const bool bytes = format.kind == FormatKind::kQ8_0 || (affine && format.bits == 8);
  const bool nibbles = format.kind == FormatKind::kQ4_0 || format.kind == FormatKind::kQ4_1 ||
                       format.kind == FormatKind::kIQ4_NL || format.kind == FormatKind::kMxfp4Block;
  if (!bytes && !nibbles) return false;
  const BlockFields fields = affine ? BlockFields{32, 0, 0} : block_fields(format.kind);
  const int64_t words = bytes ? 8 : 4;
  const uint32_t flip = format.kind == FormatKind::kQ8_0 ? each(0x80) : 0u;
  for (int64_t b = 0; b < n_blocks; ++b) {
    for (int64_t v = 0; v < words; ++v) {
      const uint32_t word = word_at(row + b * fields.bytes + fields.codes, v) ^ flip;
      std::memcpy(to + (b * words + v) * 64, &word, 4);
    }
  }
  return true;
}

void put_numbers(const EncodedMatrix& source, const PanelFormat& shape, int64_t row, int64_t r,
                 std::byte* second, std::byte* third) {
  const PanelNumbers numbers = shape.numbers;
  if (numbers == PanelNumbers::kGroups || numbers == PanelNumbers::kPower) {
    const int64_t size =
        numbers == PanelNumbers::kPower ? 1 : static_cast<int64_t>(dtype_bytes(shape.scale_type));
    for (int64_t g = 0; g < source.cols / shape.group_cols; ++g) {
      const auto put = [&](int plane, std::byte* to) {
        std::memcpy(to + (g * kPanelRows + r) * size, number_at(source, plane, row, g, size),
                    static_cast<size_t>(size));
      };
      put(1, second);
      if (shape.has_offset) put(2, third);
    }
    return;
  }
  const FormatKind kind = source.format.kind;
  const PanelNumberBytes bytes = panel_number_bytes(shape);
  const auto block_bytes = static_cast<int64_t>(row_bytes(source.format, kSuperCols));
  for (int64_t b = 0; b < source.cols / kSuperCols; ++b) {
    put_super_block(kind, shape, source.row_plane(0, row) + b * block_bytes, r,
                    second + b * (kSuperCols / shape.group_cols) * kPanelRows * bytes.second,
                    third + b * kPanelRows * bytes.third);
  }
}

}  // namespace skua::cpu
