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
int32_t put_codes(Whole16 codes, int index, int col, QuantizedBlock<kT>* block) {
  store_bytes(codes, block->codes[index] + col);
  return sum_of(codes);
}

template <int kT>
void put_block(Whole16 first, Whole16 second, float scale, int index, QuantizedBlock<kT>* block) {
  const int32_t first_sum = put_codes(first, index, 0, block);
  const int32_t sum = first_sum + put_codes(second, index, 16, block);
  block->scale[index] = scale;
  block->sum[index] = scale * static_cast<float>(sum);
  block->minus_8[index] = -8 * sum;
  block->minus_128[index] = -128 * sum;
  block->first_8[index] = -8 * first_sum;
}

constexpr float kTop = 16256.0f;  // 127 * 128

/// 32 numbers that share a scale.
struct Block {
  V16 first, second;
  float amax;
  bool finite, tiny;  // tiny ones count as zero, so that kTop/amax stays finite

  explicit Block(const float* x) : first(load(x)), second(load(x + 16)) {
    amax = reduce_max(max(abs(first), abs(second)));
    // x - x is 0 for finite numbers only; a sum of such differences shows any other.
    finite = reduce_add((first - first) + (second - second)) == 0.0f;
    tiny = amax < 0x1p-100f;
  }

  /// How much the remainder of this block matters.
  float weight() const { return finite ? amax : 0.0f; }
  float scale() const { return !finite ? __builtin_nanf("") : tiny ? 0.0f : amax / kTop; }

  Whole16 codes(V16 v) const {
    const V16 inverse = splat(finite && !tiny ? kTop / amax : 0.0f), bound = splat(kTop);
    const V16 q = finite ? v * inverse : zero();
    return to_whole(min(bound, max(zero() - bound, q)));
  }
};

/// The blocks of a run that are refined, a bit each: the n of `count` whose weight is largest.
uint32_t most_weighty(const float* weights, int64_t count, int64_t n) {
  V16 left = load_part(weights, count);
  left = select(first_lanes(count), left, splat(-1.0f));
  uint32_t chosen = 0;
  for (; n > 0; --n) {
    const uint32_t smaller = bits(less(left, splat(reduce_max(left))));
    const int first = __builtin_ctz(~smaller);
    chosen |= 1u << first;
    left = select(lanes_between(first, first + 1), splat(-1.0f), left);
  }
  return chosen;
}

template <int kT>
void quantize_into(const float* x, int64_t k, int index, std::byte* tile) {
  const int64_t n_blocks = k / kPanelCols;
  auto* block = reinterpret_cast<QuantizedBlock<kT>*>(tile);
  auto* remainder = const_cast<Remainder*>(remainders(tile, n_blocks, kT, index));
  for (int64_t run = 0; run < n_blocks; run += kRunBlocks) {
    const int64_t count = min_of(kRunBlocks, n_blocks - run);
    float weights[kRunBlocks];
    for (int64_t i = 0; i < count; ++i) weights[i] = Block(x + (run + i) * kPanelCols).weight();
    const uint32_t refined = most_weighty(weights, count, refined_of_run(count));
    for (int64_t i = 0; i < count; ++i, ++block) {
      const Block numbers(x + (run + i) * kPanelCols);
      const Whole16 first = numbers.codes(numbers.first), second = numbers.codes(numbers.second);
      const Whole16 first_high = high_part(first), second_high = high_part(second);
      const float scale = numbers.scale();
      put_block(first_high, second_high, 128.0f * scale, index, block);
      if ((refined >> i & 1) == 0) continue;
      remainder->block = static_cast<int32_t>(run + i);
      put_block(low_part(first, first_high), low_part(second, second_high), numbers.finite ? scale : 0.0f, 0,
                &remainder->x);
      ++remainder;
    }
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
