// Meaning of the GGUF block formats: where each code lies in its block, and its value. All products below are
// exact in f32 (an f16 scale has 11 digits, a code at most 8, a Q6_K sub-scale 7), so only the final sum of
// the formats with a minimum rounds, once. Source for the layouts: the block structs of ggml (facts).
#include "base/check.h"
#include "tensor/decode_k_quants.h"

namespace skua::decode {
namespace {

float load_f16(const std::byte* bytes) { return f16_to_f32(load<uint16_t>(bytes)); }

/// Sixteen bytes hold 32 nibbles: column j in the low half of byte j, column j + 16 in its high half.
int nibble(const std::byte* codes, int j) {
  const int byte = std::to_integer<int>(codes[j & 15]);
  return j < 16 ? byte & 15 : byte >> 4;
}

/// Five-bit codes: the nibble, and bit j of a 32-bit word above it.
int five_bits(const std::byte* high, const std::byte* codes, int j) {
  return nibble(codes, j) | static_cast<int>((load<uint32_t>(high) >> j) & 1u) << 4;
}

void decode_q6_k(const std::byte* block, float* out) {
  const std::byte* low = block;         // 128 bytes: two halves of 64, four bits each
  const std::byte* high = block + 128;  // 64 bytes: two halves of 32, two bits each
  const std::byte* scales = block + 192;
  const float d = load_f16(block + 208);
  for (int j = 0; j < 256; ++j) {
    const int half = j / 128, quarter = j % 128 / 32, i = j % 32;
    const int low_byte = std::to_integer<int>(low[half * 64 + (quarter & 1) * 32 + i]);
    const int high_byte = std::to_integer<int>(high[half * 32 + i]);
    const int code = ((low_byte >> (quarter / 2 * 4)) & 15) | ((high_byte >> (quarter * 2)) & 3) << 4;
    const float scale = d * static_cast<float>(load<int8_t>(scales + j / 16));
    out[j] = scale * static_cast<float>(code - 32);
  }
}

}  // namespace

BlockGeometry gguf_block(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ4_0:
      return {32, 18};
    case FormatKind::kQ4_1:
      return {32, 20};
    case FormatKind::kQ5_0:
      return {32, 22};
    case FormatKind::kQ5_1:
      return {32, 24};
    case FormatKind::kQ8_0:
      return {32, 34};
    case FormatKind::kQ2_K:
      return {256, 84};
    case FormatKind::kQ3_K:
      return {256, 110};
    case FormatKind::kQ4_K:
      return {256, 144};
    case FormatKind::kQ5_K:
      return {256, 176};
    case FormatKind::kQ6_K:
      return {256, 210};
    case FormatKind::kIQ4_NL:
      return {32, 18};
    case FormatKind::kIQ4_XS:
      return {256, 136};
    case FormatKind::kMxfp4Block:
      return {32, 17};
    default:
      return {};
  }
}

void decode_gguf_block(FormatKind kind, const std::byte* block, float* out) {
  const auto fill = [out](auto value) {
    for (int j = 0; j < 32; ++j) out[j] = value(j);
  };
  const float d = load_f16(block);
  const float m = load_f16(block + 2);  // formats with a minimum
  switch (kind) {
    case FormatKind::kQ4_0:
      return fill([&](int j) { return d * static_cast<float>(nibble(block + 2, j) - 8); });
    case FormatKind::kQ4_1:
      return fill([&](int j) { return d * static_cast<float>(nibble(block + 4, j)) + m; });
    case FormatKind::kQ5_0:
      return fill([&](int j) { return d * static_cast<float>(five_bits(block + 2, block + 6, j) - 16); });
    case FormatKind::kQ5_1:
      return fill([&](int j) { return d * static_cast<float>(five_bits(block + 4, block + 8, j)) + m; });
    case FormatKind::kQ8_0:
      return fill([&](int j) { return d * static_cast<float>(load<int8_t>(block + 2 + j)); });
    case FormatKind::kQ2_K:
      return decode_q2_k(block, out);
    case FormatKind::kQ3_K:
      return decode_q3_k(block, out);
    case FormatKind::kQ4_K:
      return decode_q4_k(block, out);
    case FormatKind::kQ5_K:
      return decode_q5_k(block, out);
    case FormatKind::kQ6_K:
      return decode_q6_k(block, out);
    case FormatKind::kIQ4_NL:
      return fill([&](int j) { return d * static_cast<float>(iq4_value(nibble(block + 2, j))); });
    case FormatKind::kIQ4_XS:
      return decode_iq4_xs(block, out);
    case FormatKind::kMxfp4Block:
      return fill([scale = mxfp4_half_scale(load<uint8_t>(block)), block](int j) {
        return scale * static_cast<float>(mxfp4_twice(nibble(block + 1, j)));
      });
    default:
      SKUA_CHECK(gguf_block(kind).cols != 0);
  }
}

}  // namespace skua::decode
