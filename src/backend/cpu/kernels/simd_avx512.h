// V16 on AVX-512 (F, BW, DQ, VL). Included by simd.h only.
#pragma once

namespace skua::cpu::SKUA_ISA {

constexpr bool kWide = true;  // 32 registers of 16 lanes: larger register tiles pay

struct V16 {
  __m512 v;
};
struct I16 {
  __m512i v;
};
struct M16 {
  __mmask16 m;
};

inline M16 first_lanes(int64_t n) { return {static_cast<__mmask16>((1u << n) - 1u)}; }  // 0 <= n <= 16

inline V16 zero() { return {_mm512_setzero_ps()}; }
inline V16 splat(float x) { return {_mm512_set1_ps(x)}; }
inline V16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, V16 a) { _mm512_storeu_ps(p, a.v); }
/// Lanes below n from memory, the others 0; touches no other address.
inline V16 load_part(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n).m, p)}; }
inline void store_part(float* p, V16 a, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n).m, a.v); }

inline V16 operator+(V16 a, V16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline V16 operator-(V16 a, V16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline V16 operator*(V16 a, V16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline V16 operator/(V16 a, V16 b) { return {_mm512_div_ps(a.v, b.v)}; }
/// a * b + c with one rounding.
inline V16 fma(V16 a, V16 b, V16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// c - a * b with one rounding.
inline V16 fnma(V16 a, V16 b, V16 c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
/// a > b ? a : b, so b where either is NaN.
inline V16 max(V16 a, V16 b) { return {_mm512_max_ps(a.v, b.v)}; }
/// a < b ? a : b, so b where either is NaN.
inline V16 min(V16 a, V16 b) { return {_mm512_min_ps(a.v, b.v)}; }
inline V16 round_even(V16 a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline V16 abs(V16 a) { return {_mm512_abs_ps(a.v)}; }
inline V16 copy_sign(V16 magnitude, V16 sign) {
  const __m512i bit = _mm512_set1_epi32(INT32_MIN);
  return {_mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign.v), _mm512_castps_si512(magnitude.v), 0xCA))};
}
/// a * 2^n, rounded once; n is a whole number with |n| <= 250.
inline V16 scale2(V16 a, V16 n) { return {_mm512_scalef_ps(a.v, n.v)}; }

inline M16 less(V16 a, V16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline uint32_t bits(M16 m) { return m.m; }  // lane i is bit i
inline V16 select(M16 m, V16 yes, V16 no) { return {_mm512_mask_blend_ps(m.m, no.v, yes.v)}; }
/// Lanes begin <= i < end (clamped to 0..16).
inline M16 lanes_between(int64_t begin, int64_t end) {
  const int64_t b = begin < 0 ? 0 : begin > 16 ? 16 : begin;
  const int64_t e = end < b ? b : end > 16 ? 16 : end;
  return {static_cast<__mmask16>(((1u << e) - 1u) & ~((1u << b) - 1u))};
}

/// Lanes i + (i + 8), then i + (i + 4).
inline __m128 fold_to_4(V16 a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
}
inline float reduce_max(V16 a) { return _mm512_reduce_max_ps(a.v); }

inline I16 splat_int(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline I16 load_int(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline I16 widen_u8(const std::byte* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I16 widen_s8(const std::byte* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I16 widen_u16(const std::byte* p) {
  return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline I16 operator&(I16 a, I16 b) { return {_mm512_and_si512(a.v, b.v)}; }
inline I16 operator|(I16 a, I16 b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int N>
inline I16 shift_left(I16 a) {
  return {_mm512_slli_epi32(a.v, N)};
}
template <int N>
inline I16 shift_right(I16 a) {
  return {_mm512_srli_epi32(a.v, N)};
}
inline I16 shift_right(I16 a, I16 by) { return {_mm512_srlv_epi32(a.v, by.v)}; }
inline V16 to_float(I16 a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline V16 as_float(I16 a) { return {_mm512_castsi512_ps(a.v)}; }
inline V16 load_f16(const std::byte* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}

/// Byte pairs of 16 bytes at `p`: lane i gets bytes pick[4i..4i+3] (0x80 gives 0).
inline I16 pick_bytes(const std::byte* p, const uint8_t* pick) {
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm512_shuffle_epi8(bytes, _mm512_loadu_si512(pick))};
}

/// A vector as wide as the registers: for tiles that need all of them.
struct Native {
  static constexpr int kCount = 16;
  using F = __m512;
  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
};

/// Lanes 0..15: the signed byte of `table` that each of 16 codes (0..15) names.
inline V16 look_up(__m128i table, __m128i codes) {
  return to_float({_mm512_cvtepi8_epi32(_mm_shuffle_epi8(table, codes))});
}

}  // namespace skua::cpu::SKUA_ISA
