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
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static F load_f32(const std::byte* p) { return _mm512_loadu_ps(p); }
  static F load_f16(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_bf16(const std::byte* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
};

/// The eight code vectors of one block, for the rows from `half` on (always 0 here).
template <int kBits>
inline void unpack_block(const std::byte* block, __m512i* codes) {
  if constexpr (kBits == 8) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) codes[v] = _mm512_loadu_si512(block + 64 * v);
  } else {
    const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512i both = _mm512_loadu_si512(block + 64 * v);
      codes[v] = _mm512_and_si512(both, low);
      codes[v + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
  }
}

/// Per row, the sum over 32 columns of (code - kCentre) * x, for row t of a tile.
template <int kBits, int kCentre, int kT>
inline __m512i dot_block(const __m512i* codes, const QuantizedBlock<kT>& block, int t) {
  const int8_t* x = block.codes[t];
  __m512i sum = kCentre == 0   ? _mm512_setzero_si512()
                : kCentre == 8 ? _mm512_set1_epi32(block.minus_8[t])
                               : _mm512_set1_epi32(block.minus_128[t]);
#pragma GCC unroll 8
  for (int v = 0; v < 8; ++v) {
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
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static F load_f32(const std::byte* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  static F load_f16(const std::byte* p) { return _mm256_cvtph_ps(load_16_bytes(p)); }
  static F load_bf16(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_16_bytes(p)), 16));
  }
};

/// The eight code vectors of one block for 8 rows; `block` points at the first or second half of its vectors.
/// 8-bit codes become signed: code - 128.
template <int kBits>
inline void unpack_block(const std::byte* block, __m256i* codes) {
  const auto load = [&](int v) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 64 * v));
  };
  if constexpr (kBits == 8) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) codes[v] = _mm256_xor_si256(load(v), _mm256_set1_epi8(-128));
  } else {
    const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m256i both = load(v);
      codes[v] = _mm256_and_si256(both, low);
      codes[v + 4] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
    }
  }
}

/// Per row, the sum over 32 columns of (code - kCentre) * x, for row t of a tile.
template <int kBits, int kCentre, int kT>
inline __m256i dot_block(const __m256i* codes, const QuantizedBlock<kT>& block, int t) {
  const int8_t* x = block.codes[t];
  const __m256i ones = _mm256_set1_epi16(1);
  const auto four = [&](int v) {
    int32_t bytes;
    __builtin_memcpy(&bytes, x + 4 * v, 4);
    return _mm256_set1_epi32(bytes);
  };
  if constexpr (kBits == 4) {
    // At most 8 * 2 * 15 * 127 = 30,480: fits int16.
    __m256i sum = _mm256_maddubs_epi16(codes[0], four(0));
#pragma GCC unroll 8
    for (int v = 1; v < 8; ++v) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(codes[v], four(v)));
    const __m256i wide = _mm256_madd_epi16(sum, ones);
    if constexpr (kCentre == 0) return wide;
    return _mm256_add_epi32(wide, _mm256_set1_epi32(block.minus_8[t]));
  } else {
    // |code - 128| <= 128 and |x| <= 127: a pair of products fits int16.
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) {
      const __m256i pairs =
          _mm256_maddubs_epi16(_mm256_abs_epi8(codes[v]), _mm256_sign_epi8(four(v), codes[v]));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
    if constexpr (kCentre == 128) return sum;
    return _mm256_sub_epi32(sum, _mm256_set1_epi32(block.minus_128[t]));
  }
}

#endif

}  // namespace skua::cpu::SKUA_ISA
