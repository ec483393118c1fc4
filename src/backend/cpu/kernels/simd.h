// The one vector type of every kernel: 16 lanes of f32, as one zmm (AVX-512) or two ymm (AVX2). All functions
// act lane by lane, or reduce in one fixed tree, so both instruction sets give the same bytes. Compiled once
// per instruction set, into namespace skua::cpu::SKUA_ISA; nothing here may be seen by other code, and
// kernels use no templates of the standard library, so that no AVX-512 code can be linked into the baseline.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include "backend/cpu/kernels/simd_avx512.h"
#else
#include "backend/cpu/kernels/simd_avx2.h"
#endif

namespace skua::cpu::SKUA_ISA {

template <typename T>
constexpr T min_of(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max_of(T a, T b) {
  return a < b ? b : a;
}

/// Reads an unaligned number.
template <typename T>
inline T load_as(const std::byte* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof(T));
  return value;
}

inline float f16_value(const std::byte* at) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(load_as<uint16_t>(at))));
}
inline float bf16_value(const std::byte* at) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(load_as<uint16_t>(at)) << 16);
}

/// Lanes 0..3 hold the sums of a, b, c, d. Tree: lanes i and i+8, then i and i+4, i and i+2, i and i+1.
inline __m128 reduce_add4(V16 a, V16 b, V16 c, V16 d) {
  __m128 r0 = fold_to_4(a), r1 = fold_to_4(b), r2 = fold_to_4(c), r3 = fold_to_4(d);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  return _mm_add_ps(_mm_add_ps(r0, r2), _mm_add_ps(r1, r3));
}

/// Sum of all lanes, in the same tree as reduce_add4.
inline float reduce_add(V16 a) {
  const __m128 four = fold_to_4(a);
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

}  // namespace skua::cpu::SKUA_ISA
