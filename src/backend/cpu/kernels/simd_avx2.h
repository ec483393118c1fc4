// V16 on AVX2, FMA and F16C: two halves of 8 lanes. Included by simd.h only.
#pragma once

namespace skua::cpu::SKUA_ISA {

constexpr bool kWide = false;  // 16 registers of 8 lanes: small register tiles

struct V16 {
  __m256 lo, hi;
};
struct I16 {
  __m256i lo, hi;
};
struct M16 {
  __m256 lo, hi;  // all bits of a lane set or clear
};

/// Lanes begin <= i < end.
inline M16 lanes_between(int64_t begin, int64_t end) {
  const int b = static_cast<int>(begin < 0 ? 0 : begin > 16 ? 16 : begin);
  const int e = static_cast<int>(end < 0 ? 0 : end > 16 ? 16 : end);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto half = [&](int first) {
    const __m256i from = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(b - 1 - first));
    const __m256i to = _mm256_cmpgt_epi32(_mm256_set1_epi32(e - first), lane);
    return _mm256_castsi256_ps(_mm256_and_si256(from, to));
  };
  return {half(0), half(8)};
}
inline M16 first_lanes(int64_t n) { return lanes_between(0, n); }

inline V16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline V16 splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline V16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, V16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
/// Lanes below n from memory, the others 0; touches no other address.
inline V16 load_part(const float* p, int64_t n) {
  const M16 m = first_lanes(n);
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.lo)),
          _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.hi))};
}
inline void store_part(float* p, V16 a, int64_t n) {
  const M16 m = first_lanes(n);
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.lo), a.lo);
  _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.hi), a.hi);
}

inline V16 operator+(V16 a, V16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline V16 operator-(V16 a, V16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline V16 operator*(V16 a, V16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline V16 operator/(V16 a, V16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
/// a * b + c with one rounding.
inline V16 fma(V16 a, V16 b, V16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
/// c - a * b with one rounding.
inline V16 fnma(V16 a, V16 b, V16 c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
/// a > b ? a : b, so b where either is NaN.
inline V16 max(V16 a, V16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
/// a < b ? a : b, so b where either is NaN.
inline V16 min(V16 a, V16 b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline V16 round_even(V16 a) {
  constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
}
inline V16 abs(V16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
inline V16 copy_sign(V16 magnitude, V16 sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_blendv_ps(_mm256_andnot_ps(bit, magnitude.lo), _mm256_or_ps(bit, magnitude.lo), sign.lo),
          _mm256_blendv_ps(_mm256_andnot_ps(bit, magnitude.hi), _mm256_or_ps(bit, magnitude.hi), sign.hi)};
}
/// a * 2^n, rounded once (the first factor keeps a normal); n is a whole number with |n| <= 250.
inline V16 scale2(V16 a, V16 n) {
  const auto half = [](__m256 x, __m256 e) {
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i whole = _mm256_cvtps_epi32(e);
    const __m256i first = _mm256_srai_epi32(whole, 1);
    const __m256i second = _mm256_sub_epi32(whole, first);
    const auto power = [&](__m256i k) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k, bias), 23));
    };
    return _mm256_mul_ps(_mm256_mul_ps(x, power(first)), power(second));
  };
  return {half(a.lo, n.lo), half(a.hi, n.hi)};
}

inline M16 less(V16 a, V16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
inline uint32_t bits(M16 m) {  // lane i is bit i
  return static_cast<uint32_t>(_mm256_movemask_ps(m.lo) | _mm256_movemask_ps(m.hi) << 8);
}
inline V16 select(M16 m, V16 yes, V16 no) {
  return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}

/// Lanes i + (i + 8), then i + (i + 4).
inline __m128 fold_to_4(V16 a) {
  const __m256 eight = _mm256_add_ps(a.lo, a.hi);
  return _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
}
inline float reduce_max(V16 a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline I16 splat_int(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I16 load_int(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
inline __m128i load_8_bytes(const std::byte* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
inline __m128i load_16_bytes(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline I16 widen_u8(const std::byte* p) {
  return {_mm256_cvtepu8_epi32(load_8_bytes(p)), _mm256_cvtepu8_epi32(load_8_bytes(p + 8))};
}
inline I16 widen_s8(const std::byte* p) {
  return {_mm256_cvtepi8_epi32(load_8_bytes(p)), _mm256_cvtepi8_epi32(load_8_bytes(p + 8))};
}
inline I16 widen_u16(const std::byte* p) {
  return {_mm256_cvtepu16_epi32(load_16_bytes(p)), _mm256_cvtepu16_epi32(load_16_bytes(p + 16))};
}
inline I16 operator&(I16 a, I16 b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
inline I16 operator|(I16 a, I16 b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
template <int N>
inline I16 shift_left(I16 a) {
  return {_mm256_slli_epi32(a.lo, N), _mm256_slli_epi32(a.hi, N)};
}
template <int N>
inline I16 shift_right(I16 a) {
  return {_mm256_srli_epi32(a.lo, N), _mm256_srli_epi32(a.hi, N)};
}
inline I16 shift_right(I16 a, I16 by) {
  return {_mm256_srlv_epi32(a.lo, by.lo), _mm256_srlv_epi32(a.hi, by.hi)};
}
inline V16 to_float(I16 a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
inline V16 as_float(I16 a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
inline V16 load_f16(const std::byte* p) {
  return {_mm256_cvtph_ps(load_16_bytes(p)), _mm256_cvtph_ps(load_16_bytes(p + 16))};
}

/// Byte pairs of 16 bytes at `p`: lane i gets bytes pick[4i..4i+3] (0x80 gives 0).
inline I16 pick_bytes(const std::byte* p, const uint8_t* pick) {
  const __m256i bytes = _mm256_broadcastsi128_si256(load_16_bytes(p));
  const auto half = [&](const uint8_t* at) {
    return _mm256_shuffle_epi8(bytes, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  };
  return {half(pick), half(pick + 32)};
}

/// A vector as wide as the registers: for tiles that need all of them.
struct Native {
  static constexpr int kCount = 8;
  using F = __m256;
  static F zero() { return _mm256_setzero_ps(); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
};

/// Lanes 0..15: the signed byte of `table` that each of 16 codes (0..15) names.
inline V16 look_up(__m128i table, __m128i codes) {
  const __m128i found = _mm_shuffle_epi8(table, codes);
  return to_float({_mm256_cvtepi8_epi32(found), _mm256_cvtepi8_epi32(_mm_srli_si128(found, 8))});
}

}  // namespace skua::cpu::SKUA_ISA
