// The same values as tensor/decode_k_quants.cc and decode_mxfp4.cc, 16 columns at a time: every product is
// exact, so one multiplication or one fused multiply-add gives the value that is rounded once.
#include "backend/cpu/kernels/decode_k_quants.h"

#include "backend/cpu/panels.h"
#include "tensor/decode_k_quants.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// Q4_K and Q5_K: sub-blocks of 32 columns, two of them share 32 bytes of nibbles; fifth bits lie in 32 bytes
/// of their own, that of sub-block j at bit j.
template <int kBits>
void decode_k4(const StoredRow& row, int64_t cols, float* out) {
  constexpr int64_t kHigh = 16, kCodes = kBits == 5 ? 48 : 16;
  const I16 low_bits = splat_int(15), one = splat_int(1);
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 256, block += kCodes + 128) {
    const float d = f16_value(block), d_min = f16_value(block + 2);
    for (int j = 0; j < 8; ++j) {
      const decode::SubScale sub = decode::k4_sub_scale(block + 4, j);
      const V16 scale = splat(d * static_cast<float>(sub.scale));
      const V16 offset = splat(-(d_min * static_cast<float>(sub.minimum)));
      for (int64_t i = 0; i < 32; i += 16) {
        const I16 bytes = widen_u8(block + kCodes + j / 2 * 32 + i);
        I16 code = j % 2 == 0 ? bytes & low_bits : shift_right<4>(bytes);
        if constexpr (kBits == 5) {
          const I16 high = shift_right(widen_u8(block + kHigh + i), splat_int(j)) & one;
          code = code | shift_left<4>(high);
        }
        store(out + k + 32 * j + i, fma(scale, to_float(code), offset));
      }
    }
  }
}

/// Codes of two bits: 16 columns of part `part` (32 columns each), `i` from its start.
inline I16 crumbs(const std::byte* codes, int part, int64_t i) {
  return shift_right(widen_u8(codes + part / 4 * 32 + i), splat_int(part % 4 * 2)) & splat_int(3);
}

void decode_q2_k(const StoredRow& row, int64_t cols, float* out) {
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 256, block += 84) {
    const float d = f16_value(block + 80), d_min = f16_value(block + 82);
    for (int g = 0; g < 16; ++g) {
      const int sub = load_as<uint8_t>(block + g);
      const V16 scale = splat(d * static_cast<float>(sub & 15));
      const V16 offset = splat(-(d_min * static_cast<float>(sub >> 4)));
      store(out + k + 16 * g, fma(scale, to_float(crumbs(block + 16, g / 2, g % 2 * 16)), offset));
    }
  }
}

void decode_q3_k(const StoredRow& row, int64_t cols, float* out) {
  const V16 centre = splat(4.0f);
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 256, block += 110) {
    const float d = f16_value(block + 108);
    for (int g = 0; g < 16; ++g) {
      const int64_t i = g % 2 * 16;
      const I16 high = shift_right(widen_u8(block + i), splat_int(g / 2)) & splat_int(1);
      const I16 code = crumbs(block + 32, g / 2, i) | shift_left<2>(high);
      const float scale = d * static_cast<float>(decode::q3_sub_scale(block + 96, g));
      store(out + k + 16 * g, splat(scale) * (to_float(code) - centre));
    }
  }
}

inline __m128i table(const int8_t* values) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
}
inline __m128i bytes16(const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
inline __m128i low_nibbles(__m128i bytes) { return _mm_and_si128(bytes, _mm_set1_epi8(15)); }
inline __m128i high_nibbles(__m128i bytes) { return low_nibbles(_mm_srli_epi16(bytes, 4)); }

/// 32 columns: the low halves of 16 bytes, then the high ones.
inline void put_32(float scale, const int8_t* values, const std::byte* codes, float* out) {
  const __m128i bytes = bytes16(codes);
  store(out, splat(scale) * look_up(table(values), low_nibbles(bytes)));
  store(out + 16, splat(scale) * look_up(table(values), high_nibbles(bytes)));
}

void decode_iq4_nl(const StoredRow& row, int64_t cols, float* out) {
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 32, block += 18) put_32(f16_value(block), kIq4Table, block + 2, out + k);
}

void decode_iq4_xs(const StoredRow& row, int64_t cols, float* out) {
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 256, block += 136) {
    for (int j = 0; j < 8; ++j) {
      const float scale = f16_value(block) * static_cast<float>(decode::iq4_sub_scale(block, j));
      put_32(scale, kIq4Table, block + 8 + 16 * j, out + k + 32 * j);
    }
  }
}

/// 2^(e-128), subnormal for e below 2. e = 255 does not occur: pack() refuses it.
inline float half_scale(const std::byte* at) {
  const uint32_t e = load_as<uint8_t>(at);
  return __builtin_bit_cast(float, e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

void decode_mxfp4_block(const StoredRow& row, int64_t cols, float* out) {
  const std::byte* block = row.codes;
  for (int64_t k = 0; k < cols; k += 32, block += 17)
    put_32(half_scale(block), kTwiceE2m1Table, block + 1, out + k);
}

void decode_mxfp4(const StoredRow& row, int64_t cols, float* out) {
  const __m128i values = table(kTwiceE2m1Table);
  for (int64_t k = 0; k < cols; k += 32) {
    const V16 scale = splat(half_scale(row.scales + k / 32));
    const __m128i bytes = bytes16(row.codes + k / 2);
    const __m128i even = low_nibbles(bytes), odd = high_nibbles(bytes);
    store(out + k, scale * look_up(values, _mm_unpacklo_epi8(even, odd)));
    store(out + k + 16, scale * look_up(values, _mm_unpackhi_epi8(even, odd)));
  }
}

}  // namespace

DecodeFn k_quant_decoder(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ2_K:
      return decode_q2_k;
    case FormatKind::kQ3_K:
      return decode_q3_k;
    case FormatKind::kQ4_K:
      return decode_k4<4>;
    case FormatKind::kQ5_K:
      return decode_k4<5>;
    case FormatKind::kIQ4_NL:
      return decode_iq4_nl;
    case FormatKind::kIQ4_XS:
      return decode_iq4_xs;
    case FormatKind::kMxfp4Block:
      return decode_mxfp4_block;
    default:
      return decode_mxfp4;
  }
}

}  // namespace skua::cpu::SKUA_ISA
