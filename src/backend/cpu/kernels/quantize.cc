// Rounding activations to whole numbers; see quantize.h.
#include "backend/cpu/kernels/quantize.h"

namespace skua::cpu::SKUA_ISA {
namespace {

#if defined(__AVX512F__)

struct Whole16 {  // 16 whole numbers
  __m512i v;
};
Whole16 to_whole(V16 q) { return {_mm512_cvtps_epi32(q.v)}; }

/// Stores numbers in [-128, 127] as bytes.
void store_bytes(Whole16 q, int8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(q.v));
}

/// The high part of a code, rounded so that the rest lies in [-64, 63]; and the rest.
Whole16 high_part(Whole16 q) { return {_mm512_srai_epi32(_mm512_add_epi32(q.v, _mm512_set1_epi32(64)), 7)}; }
Whole16 low_part(Whole16 q, Whole16 high) { return {_mm512_sub_epi32(q.v, _mm512_slli_epi32(high.v, 7))}; }
int32_t sum_of(Whole16 q) { return _mm512_reduce_add_epi32(q.v); }

#else

struct Whole16 {
  __m256i lo, hi;
};
Whole16 to_whole(V16 q) { return {_mm256_cvtps_epi32(q.lo), _mm256_cvtps_epi32(q.hi)}; }

/// Stores numbers in [-128, 127] as bytes.
void store_bytes(Whole16 q, int8_t* to) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(q.lo, q.hi), 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

/// The high part of a code, rounded so that the rest lies in [-64, 63]; and the rest.
Whole16 high_part(Whole16 q) {
  const __m256i half = _mm256_set1_epi32(64);
  return {_mm256_srai_epi32(_mm256_add_epi32(q.lo, half), 7),
          _mm256_srai_epi32(_mm256_add_epi32(q.hi, half), 7)};
}
Whole16 low_part(Whole16 q, Whole16 high) {
  return {_mm256_sub_epi32(q.lo, _mm256_slli_epi32(high.lo, 7)),
          _mm256_sub_epi32(q.hi, _mm256_slli_epi32(high.hi, 7))};
}
int32_t sum_of(Whole16 q) {
  const __m256i sums = _mm256_add_epi32(q.lo, q.hi);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
  return _mm_cvtsi128_si32(four);
}

#endif

/// Writes 16 codes from column `col` on and returns their sum.
template <int kT>
int32_t put_codes(V16 q, int index, int col, QuantizedBlock<kT>* block) {
  const Whole16 whole = to_whole(q), high = high_part(whole);
  store_bytes(high, block->high[index] + col);
  store_bytes(low_part(whole, high), block->low[index] + col);
  return sum_of(whole);
}

template <int kT>
void quantize_into(const float* x, int64_t k, int index, std::byte* tile) {
  constexpr float kTop = 16256.0f;  // 127 * 128
  auto* block = reinterpret_cast<QuantizedBlock<kT>*>(tile);
  for (int64_t at = 0; at < k; at += kPanelCols, ++block) {
    const V16 first = load(x + at), second = load(x + at + 16);
    const float amax = reduce_max(max(abs(first), abs(second)));
    // x - x is 0 for finite numbers only; a sum of such differences shows any other.
    const bool finite = reduce_add((first - first) + (second - second)) == 0.0f;
    const bool tiny = amax < 0x1p-100f;  // counts as zero, so that kTop/amax stays finite
    const V16 inverse = splat(finite && !tiny ? kTop / amax : 0.0f);
    const V16 bound = splat(kTop);
    const auto quantize = [&](V16 v) {
      const V16 q = finite ? v * inverse : zero();
      return min(bound, max(zero() - bound, q));
    };
    const int32_t first_sum = put_codes(quantize(first), index, 0, block);
    const int32_t sum = first_sum + put_codes(quantize(second), index, 16, block);
    const float scale = !finite ? __builtin_nanf("") : tiny ? 0.0f : amax / kTop;
    block->scale[index] = scale;
    block->sum[index] = scale * static_cast<float>(sum);
    block->minus_8[index] = -8 * sum;
    block->minus_128[index] = -128 * sum;
    block->first_8[index] = -8 * first_sum;
  }
}

}  // namespace

void quantize_row(const float* x, int64_t k, int rows, int index, std::byte* tile) {
  switch (rows) {
    case 8:
      return quantize_into<8>(x, k, index, tile);
    case 4:
      return quantize_into<4>(x, k, index, tile);
    case 2:
      return quantize_into<2>(x, k, index, tile);
    default:
      return quantize_into<1>(x, k, index, tile);
  }
}

}  // namespace skua::cpu::SKUA_ISA
