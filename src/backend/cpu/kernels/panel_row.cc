// Reading single values back from panels (panels.h), for the embedding of a token.
#include "backend/cpu/kernels/panel_row.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// One code of a block; see panels.h for the planes.
int panel_code(int bits, const std::byte* block, int64_t row, int64_t column) {
  const int64_t v = column / 4;
  const auto byte = [&](int64_t plane) {
    return int{load_as<uint8_t>(block + plane * 64 + row * 4 + column % 4)};
  };
  const auto crumb = [&](int64_t plane) { return byte(plane + v / 4) >> (2 * (v % 4)) & 3; };
  if (bits == 8) return byte(v);
  const int low = bits < 4 ? crumb(0) : v < 4 ? byte(v) & 15 : byte(v - 4) >> 4;
  if (bits == 3) return low | (byte(2) >> v & 1) << 2;
  if (bits == 5) return low | (byte(4) >> v & 1) << 4;
  if (bits == 6) return low | crumb(4) << 4;
  return low;
}

float plain_number(DType type, const std::byte* at) {
  switch (type) {
    case DType::kF16:
      return f16_value(at);
    case DType::kBF16:
      return bf16_value(at);
    default:
      return load_as<float>(at);
  }
}

/// Scale and offset of the codes of a group.
struct Numbers {
  float scale, offset;
};

/// Of row `r` in group `group`, which begins at column `col`. `second` and `third` are the panel's parts.
Numbers numbers_of(const PanelFormat& shape, const std::byte* second, const std::byte* third, int64_t r,
                   int64_t group, int64_t col) {
  const int64_t place = group * kPanelRows + r, super = col / kSuperCols * kPanelRows;
  const auto byte = [&](int64_t i) { return load_as<uint8_t>(second + i); };
  const auto with_minimum = [&](int scale, int minimum) {
    const std::byte* d = third + 2 * (2 * super + r);
    return Numbers{f16_value(d) * static_cast<float>(scale),
                   -(f16_value(d + 2 * kPanelRows) * static_cast<float>(minimum))};
  };
  switch (shape.numbers) {
    case PanelNumbers::kSigned:
      return {f16_value(third + 2 * (super + r)) * static_cast<float>(load_as<int8_t>(second + place)), 0.0f};
    case PanelNumbers::kScaleMin8:
      return with_minimum(byte(place + group * kPanelRows), byte(place + (group + 1) * kPanelRows));
    case PanelNumbers::kScaleMin4:
      return with_minimum(byte(place) & 15, byte(place) >> 4);
    case PanelNumbers::kPower: {
      const uint32_t e = byte(place);
      return {0.5f * __builtin_bit_cast(float, e == 0 ? 0x00400000u : e << 23), 0.0f};  // 2^(e - 128)
    }
    default:
      break;
  }
  const int64_t size = shape.scale_type == DType::kF32 ? 4 : 2;
  return {plain_number(shape.scale_type, second + place * size),
          shape.has_offset ? plain_number(shape.scale_type, third + place * size) : 0.0f};
}

float code_value(const PanelFormat& shape, int code) {
  switch (shape.codes) {
    case PanelCodes::kIq4:
      return static_cast<float>(kIq4Table[code]);
    case PanelCodes::kTwiceE2m1:
      return static_cast<float>(kTwiceE2m1Table[code]);
    default:
      return static_cast<float>(code - shape.centre);
  }
}

}  // namespace

void decode_panel_row(const PanelFormat& shape, const PlaneView& table, int64_t row, float* y) {
  const int64_t panel = row / kPanelRows, r = row % kPanelRows;
  const std::byte* codes = table.row(0, panel);
  for (int64_t begin = 0; begin < table.layout->cols; begin += shape.group_cols) {
    const Numbers numbers =
        numbers_of(shape, table.row(1, panel), table.row(2, panel), r, begin / shape.group_cols, begin);
    for (int64_t k = begin; k < begin + shape.group_cols; ++k) {
      const std::byte* block = codes + k / kPanelCols * panel_block_bytes(shape.bits);
      const float q = code_value(shape, panel_code(shape.bits, block, r, k % kPanelCols));
      y[k] = shape.has_offset ? __builtin_fmaf(numbers.scale, q, numbers.offset) : numbers.scale * q;
    }
  }
}

}  // namespace skua::cpu::SKUA_ISA
