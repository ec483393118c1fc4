// Integer dot products on the machine's own vector width: 16 rows at a time with AVX-512 VNNI, 8 with AVX2.
// Sums are exact in int32 (in int16 only where they cannot overflow), so both give the same numbers.
#pragma once

#include "backend/cpu/kernels/quantize.h"

namespace skua::cpu::SKUA_ISA {

#if defined(__AVX512F__)

struct Lanes {  // one number per row
  static constexpr int kCount = 16;
  using F = __m512;
  using I = __m512i;
  static F zero() { return _mm512_setzero_ps(); }
  static F splat(float x) { return _mm512_set1_ps(x); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I whole(int32_t x) { return _mm512_set1_epi32(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static I load_codes(const std::byte* p) { return _mm512_loadu_si512(p); }
  static I widen_u8(const std::byte* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F load_u8(const std::byte* p) { return to_float(widen_u8(p)); }
  static F load_s8(const std::byte* p) {
    return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  /// 2^(e - 127) of bytes e, 255 apart; 2^-127 is subnormal.
  static F load_power(const std::byte* p) {
    const I least = _mm512_set1_epi32(0x00400000);
    return _mm512_castsi512_ps(_mm512_max_epu32(_mm512_slli_epi32(widen_u8(p), 23), least));
  }
  static I repeat_16_bytes(const uint8_t* p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  /// Bytes of a repeated table that codes in [0, 15] name.
  static I look_up(I table, I codes) { return _mm512_shuffle_epi8(table, codes); }
  static I signed_codes(I a) { return a; }  // dot_block takes them unsigned
  static I bytes(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
  static I bit_or(I a, I b) { return _mm512_or_si512(a, b); }
  /// Bits move within 16-bit words: mask afterwards.
  template <int kBy>
  static I shift_down(I a) {
    if constexpr (kBy > 0) return _mm512_srli_epi16(a, kBy);
    if constexpr (kBy < 0) return _mm512_slli_epi16(a, -kBy);
    return a;
  }
  static F load_f32(const std::byte* p) { return _mm512_loadu_ps(p); }
  static F load_f16(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_bf16(const std::byte* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
};

/// What the sums of block row t start from, so that products of code * x give (code - kCentre) * x.
template <int kBits, int kCentre, typename Block>
inline __m512i start_of(const Block& block, int t) {
  if constexpr (kCentre == 8) return _mm512_set1_epi32(block.minus_8[t]);
  if constexpr (kCentre == 16) return _mm512_slli_epi32(_mm512_set1_epi32(block.minus_8[t]), 1);
  if constexpr (kCentre == 128) return _mm512_set1_epi32(block.minus_128[t]);
  return _mm512_setzero_si512();
}

/// sum + per row the products of kN code vectors with 4 kN activations.
template <int kBits, int kN>
inline __m512i add_products(__m512i sum, const __m512i* codes, const int8_t* x) {
#pragma GCC unroll 8
  for (int v = 0; v < kN; ++v) {
    int32_t four;
    __builtin_memcpy(&four, x + 4 * v, 4);
    sum = _mm512_dpbusd_epi32(sum, codes[v], _mm512_set1_epi32(four));
  }
  return sum;
}

#else

struct Lanes {
  static constexpr int kCount = 8;
  using F = __m256;
  using I = __m256i;
  static F zero() { return _mm256_setzero_ps(); }
  static F splat(float x) { return _mm256_set1_ps(x); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static I whole(int32_t x) { return _mm256_set1_epi32(x); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static I load_codes(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static I widen_u8(const std::byte* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static F load_u8(const std::byte* p) { return to_float(widen_u8(p)); }
  static F load_s8(const std::byte* p) {
    return to_float(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  /// 2^(e - 127) of bytes e, 255 apart; 2^-127 is subnormal.
  static F load_power(const std::byte* p) {
    const I least = _mm256_set1_epi32(0x00400000);
    return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_slli_epi32(widen_u8(p), 23), least));
  }
  static I repeat_16_bytes(const uint8_t* p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  /// Bytes of a repeated table that codes in [0, 15] name.
  static I look_up(I table, I codes) { return _mm256_shuffle_epi8(table, codes); }
  static I signed_codes(I a) { return _mm256_xor_si256(a, _mm256_set1_epi8(-128)); }
  static I bytes(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
  static I bit_or(I a, I b) { return _mm256_or_si256(a, b); }
  /// Bits move within 16-bit words: mask afterwards.
  template <int kBy>
  static I shift_down(I a) {
    if constexpr (kBy > 0) return _mm256_srli_epi16(a, kBy);
    if constexpr (kBy < 0) return _mm256_slli_epi16(a, -kBy);
    return a;
  }
  static F load_f32(const std::byte* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  static F load_f16(const std::byte* p) { return _mm256_cvtph_ps(load_16_bytes(p)); }
  static F load_bf16(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_16_bytes(p)), 16));
  }
};

/// What the sums of block row t start from, so that products of code * x give (code - kCentre) * x. 8-bit
/// codes are code - 128 here.
template <int kBits, int kCentre, typename Block>
inline __m256i start_of(const Block& block, int t) {
  if constexpr (kBits == 8 && kCentre == 0) {
    return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_set1_epi32(block.minus_128[t]));
  }
  if constexpr (kCentre == 8) return _mm256_set1_epi32(block.minus_8[t]);
  if constexpr (kCentre == 16) return _mm256_slli_epi32(_mm256_set1_epi32(block.minus_8[t]), 1);
  return _mm256_setzero_si256();
}

/// sum + per row the products of kN code vectors with 4 kN activations.
template <int kBits, int kN>
inline __m256i add_products(__m256i sum, const __m256i* codes, const int8_t* x) {
  const __m256i ones = _mm256_set1_epi16(1);
  const auto four = [&](int v) {
    int32_t bytes;
    __builtin_memcpy(&bytes, x + 4 * v, 4);
    return _mm256_set1_epi32(bytes);
  };
  const auto products = [&](int v) {
    // 8-bit codes are signed, |code - 128| <= 128 and |x| <= 127: a pair of products fits int16.
    if constexpr (kBits == 8)
      return _mm256_maddubs_epi16(_mm256_abs_epi8(codes[v]), _mm256_sign_epi8(four(v), codes[v]));
    return _mm256_maddubs_epi16(codes[v], four(v));
  };
  // Pairs of products that fit int16 together: 8 * 2 * 15 * 127 = 30,480; 4 * 2 * 31 * 127 = 31,496;
  // 2 * 2 * 63 * 127 = 32,004.
  constexpr int kFit = kBits == 8 ? 1 : kBits == 6 ? 2 : kBits == 5 ? 4 : kN;
#pragma GCC unroll 8
  for (int first = 0; first < kN; first += kFit) {
    __m256i pairs = products(first);
#pragma GCC unroll 8
    for (int v = first + 1; v < first + kFit; ++v) pairs = _mm256_add_epi16(pairs, products(v));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  return sum;
}

#endif

/// start + the products of kN code vectors, from `first` on, with row t of a tile.
template <int kBits, int kN, int kT>
inline Lanes::I dot_vectors(Lanes::I start, const Lanes::I* codes, const QuantizedBlock<kT>& block, int t,
                            int first) {
  return add_products<kBits, kN>(start, codes + first, block.codes[t] + 4 * first);
}

/// Per row, the sum over 32 columns of (code - kCentre) * x, for row t of a tile.
template <int kBits, int kCentre, int kT>
inline Lanes::I dot_block(const Lanes::I* codes, const QuantizedBlock<kT>& block, int t) {
  return dot_vectors<kBits, 8>(start_of<kBits, kCentre>(block, t), codes, block, t, 0);
}

/// Per row, the sums over the first and the last 16 columns of (code - kCentre) * x; codes below 8 bits.
template <int kBits, int kCentre, int kT>
inline void dot_halves(const Lanes::I* codes, const QuantizedBlock<kT>& block, int t, Lanes::I* sums) {
  // first_8 and minus_8 hold 8 times the sums, so the quotients are whole.
  const int32_t first = block.first_8[t] * kCentre / 8;
  const int32_t second = (block.minus_8[t] - block.first_8[t]) * kCentre / 8;
  sums[0] = dot_vectors<kBits, 4>(Lanes::whole(first), codes, block, t, 0);
  sums[1] = dot_vectors<kBits, 4>(Lanes::whole(second), codes, block, t, 4);
}

/// Eight vectors of four nibble planes.
inline void unpack_nibbles(const std::byte* planes, Lanes::I* codes) {
  const Lanes::I mask = Lanes::bytes(15);
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p) {
    const Lanes::I both = Lanes::load_codes(planes + 64 * p);
    codes[p] = Lanes::bit_and(both, mask);
    codes[p + 4] = Lanes::bit_and(Lanes::shift_down<4>(both), mask);
  }
}

/// Two bits of each of eight vectors from two crumb planes, moved up by kUp; added to `codes` if kAdd.
template <int kUp, bool kAdd>
inline void unpack_crumbs(const std::byte* planes, Lanes::I* codes) {
  const Lanes::I mask = Lanes::bytes(3 << kUp);
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    const Lanes::I four = Lanes::load_codes(planes + 64 * p);
    const auto put = [&](int v, Lanes::I shifted) {
      const Lanes::I part = Lanes::bit_and(shifted, mask);
      codes[v] = kAdd ? Lanes::bit_or(codes[v], part) : part;
    };
    put(4 * p, Lanes::shift_down<0 - kUp>(four));
    put(4 * p + 1, Lanes::shift_down<2 - kUp>(four));
    put(4 * p + 2, Lanes::shift_down<4 - kUp>(four));
    put(4 * p + 3, Lanes::shift_down<6 - kUp>(four));
  }
}

/// Adds bit v of the plane to vector v, at bit kUp.
template <int kUp, int kVector = 0>
inline void unpack_bits(Lanes::I plane, Lanes::I* codes) {
  if constexpr (kVector < 8) {
    const Lanes::I bit = Lanes::bit_and(Lanes::shift_down<kVector - kUp>(plane), Lanes::bytes(1 << kUp));
    codes[kVector] = Lanes::bit_or(codes[kVector], bit);
    unpack_bits<kUp, kVector + 1>(plane, codes);
  }
}

/// The eight code vectors of one block (panels.h), of the rows that `block` points at. 8-bit codes become
/// code - 128 on AVX2.
template <int kBits>
inline void unpack_block(const std::byte* block, Lanes::I* codes) {
  if constexpr (kBits == 8) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) codes[v] = Lanes::signed_codes(Lanes::load_codes(block + 64 * v));
  } else if constexpr (kBits >= 4) {
    unpack_nibbles(block, codes);
    if constexpr (kBits == 5) unpack_bits<4>(Lanes::load_codes(block + 4 * 64), codes);
    if constexpr (kBits == 6) unpack_crumbs<4, true>(block + 4 * 64, codes);
  } else {
    unpack_crumbs<0, false>(block, codes);
    if constexpr (kBits == 3) unpack_bits<2>(Lanes::load_codes(block + 2 * 64), codes);
  }
}

}  // namespace skua::cpu::SKUA_ISA
