// Rounding activations to int8; see quantize.h.
#include "backend/cpu/kernels/quantize.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// Writes 16 whole numbers in [-128, 127] as bytes and returns their sum.
int32_t put_codes(V16 q, int8_t* to) {
#if defined(__AVX512F__)
  const __m512i whole = _mm512_cvtps_epi32(q.v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(whole));
  return _mm512_reduce_add_epi32(whole);
#else
  const __m256i lo = _mm256_cvtps_epi32(q.lo), hi = _mm256_cvtps_epi32(q.hi);
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  const __m256i sums = _mm256_add_epi32(lo, hi);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
  return _mm_cvtsi128_si32(four);
#endif
}

template <int kT>
void quantize_into(const float* x, int64_t k, int index, std::byte* tile) {
  auto* block = reinterpret_cast<QuantizedBlock<kT>*>(tile);
  for (int64_t at = 0; at < k; at += kPanelCols, ++block) {
    const V16 first = load(x + at), second = load(x + at + 16);
    const float amax = reduce_max(max(abs(first), abs(second)));
    // x - x is 0 for finite numbers only; a sum of such differences shows any other.
    const bool finite = reduce_add((first - first) + (second - second)) == 0.0f;
    const bool tiny = amax < 0x1p-100f;  // counts as zero, so that 127/amax stays finite
    const V16 inverse = splat(finite && !tiny ? 127.0f / amax : 0.0f);
    const V16 bound = splat(127.0f);
    const auto quantize = [&](V16 v) {
      const V16 q = finite ? v * inverse : zero();
      return min(bound, max(zero() - bound, q));
    };
    int8_t* codes = block->codes[index];
    const int32_t first_sum = put_codes(quantize(first), codes);
    const int32_t sum = first_sum + put_codes(quantize(second), codes + 16);
    const float scale = !finite ? __builtin_nanf("") : tiny ? 0.0f : amax / 127.0f;
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
