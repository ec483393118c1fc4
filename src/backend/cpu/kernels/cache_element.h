// What the cache holds of keys and values of heads: f32, bf16 or f16. Reading is exact; writing rounds once,
// to the nearest, ties to even.
#pragma once

#include "backend/cpu/kernels/simd.h"

namespace skua::cpu::SKUA_ISA {

struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline V16 load_cached(const float* p) { return load(p); }
inline V16 load_cached(const BF16* p) {
  return as_float(shift_left<16>(widen_u16(reinterpret_cast<const std::byte*>(p))));
}
inline V16 load_cached(const F16* p) { return load_f16(reinterpret_cast<const std::byte*>(p)); }

inline V16 load_cached_part(const float* p, int64_t n) { return load_part(p, n); }
template <typename Half>
V16 load_cached_part(const Half* p, int64_t n) {
  Half whole[16] = {};
  __builtin_memcpy(whole, p, static_cast<size_t>(n) * sizeof(Half));
  return load_cached(whole);
}

/// The bits of the element nearest to x, before anything is done about infinities. NaN stays NaN.
inline uint16_t nearest_bits(float x, BF16*) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline uint16_t nearest_bits(float x, F16*) {
  return static_cast<uint16_t>(
      _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
}

constexpr uint16_t infinity_bits(BF16*) { return 0x7f80; }
constexpr uint16_t infinity_bits(F16*) { return 0x7c00; }

/// Puts x into the cache. A finite x that would round to an infinity becomes the largest finite element of
/// its sign, and *saturated grows by one.
inline void put_cached(float x, float* to, uint64_t*) { *to = x; }
template <typename Half>
void put_cached(float x, Half* to, uint64_t* saturated) {
  uint16_t bits = nearest_bits(x, to);
  if ((bits & 0x7fffu) == infinity_bits(to) && __builtin_fabsf(x) < __builtin_inff()) {
    --bits;
    ++*saturated;
  }
  to->bits = bits;
}

}  // namespace skua::cpu::SKUA_ISA
