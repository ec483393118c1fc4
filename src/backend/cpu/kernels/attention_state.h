// The softmax of attention while keys go by. Within a split the running maximum (base 2) is rounded up to a
// whole number, so every rescale is a power of two and exact; splits are closed and merged in ascending
// order.
#pragma once

#include "backend/cpu/kernels/attention_tile.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/simd.h"

namespace skua::cpu::SKUA_ISA {

constexpr float kNothing = -__builtin_inff();  // maximum over no key
constexpr float kLog2E = 1.44269504f;

/// 2^(from - to) for whole numbers from <= to; 0 when `from` is the maximum over no key.
inline float rescale(float from, float to) {
  if (from == to) return 1.0f;
  float lanes[16];
  store(lanes, exp2(splat(from - to)));
  return lanes[0];
}

/// The larger of two maxima; NaN wins over the old one, so that it reaches the output.
inline float higher(float old_max, float other) { return other <= old_max ? old_max : other; }

/// One query's open split.
struct OpenSplit {
  float max = kNothing;
  V16 sum;
  float* acc = nullptr;     // [v_dim]
  float* scores = nullptr;  // [kPageTokens]
};

/// Splits merged so far.
struct Merged {
  float max = kNothing;
  float sum = 0.0f;
  float* acc = nullptr;  // [v_dim]
};

/// What stands between a product and its score.
struct ScoreScale {
  float scale = 1.0f;
  float softcap = 0.0f;
};

inline void scale_row(float* row, int64_t n, float factor) {
  if (factor == 1.0f) return;
  for (int64_t d = 0; d < n; d += 16) {
    const int64_t count = min_of(int64_t{16}, n - d);
    store_part(row + d, load_part(row + d, count) * splat(factor), count);
  }
}

inline void clear_row(float* row, int64_t n) {
  for (int64_t d = 0; d < n; ++d) row[d] = 0.0f;
}

inline void open_split(OpenSplit& split, int64_t v_dim) {
  split.max = kNothing;
  split.sum = zero();
  clear_row(split.acc, v_dim);
}

/// Scores in base 2 with keys outside [begin, end) at -inf, then weights 2^(score - maximum).
inline void weigh(OpenSplit& split, const ScoreScale& by, int64_t v_dim, int64_t begin, int64_t end) {
  V16 t[kPageVectors];
  V16 top = splat(kNothing);
  for (int j = 0; j < kPageVectors; ++j) {
    V16 s = load(split.scores + 16 * j) * splat(by.scale);
    if (by.softcap != 0.0f) s = splat(by.softcap) * tanh(s / splat(by.softcap));
    t[j] = select(lanes_between(begin - 16 * j, end - 16 * j), s * splat(kLog2E), splat(kNothing));
    top = max(top, t[j]);
  }
  const float tile_max = __builtin_ceilf(reduce_max(top));
  const float new_max = higher(split.max, tile_max);
  const float factor = rescale(split.max, new_max);
  split.max = new_max;
  split.sum = split.sum * splat(factor);
  scale_row(split.acc, v_dim, factor);
  for (int j = 0; j < kPageVectors; ++j) {
    const V16 p = exp2(t[j] - splat(new_max));
    split.sum = split.sum + p;
    store(split.scores + 16 * j, p);
  }
}

/// Adds a split's result (not that of an empty one).
inline void merge(Merged& merged, float split_max, float split_sum, const float* split_acc, int64_t v_dim) {
  const float new_max = higher(merged.max, split_max);
  const float old_factor = rescale(merged.max, new_max), split_factor = rescale(split_max, new_max);
  merged.sum = merged.sum * old_factor + split_sum * split_factor;
  for (int64_t d = 0; d < v_dim; d += 16) {
    const int64_t n = min_of(int64_t{16}, v_dim - d);
    const V16 old_part = load_part(merged.acc + d, n) * splat(old_factor);
    store_part(merged.acc + d, fma(load_part(split_acc + d, n), splat(split_factor), old_part), n);
  }
  merged.max = new_max;
}

/// Closes a split: merges it if it has seen a key, and opens the next.
inline void close_split(OpenSplit& split, Merged& merged, int64_t v_dim) {
  if (split.max == kNothing) return;
  merge(merged, split.max, reduce_add(split.sum), split.acc, v_dim);
  open_split(split, v_dim);
}

/// A sink joins as one more split, after all others: a score in base 2 whose value is zero.
inline void merge_sink(Merged& merged, float sink, int64_t v_dim) {
  const float score = sink * kLog2E;
  const float sink_max = __builtin_ceilf(score), new_max = higher(merged.max, sink_max);
  float weight[16];
  store(weight, exp2(splat(score) - splat(new_max)));
  const float factor = rescale(merged.max, new_max);
  merged.sum = merged.sum * factor + weight[0];
  scale_row(merged.acc, v_dim, factor);
  merged.max = new_max;
}

inline void write_mean(const Merged& merged, int64_t v_dim, float* out) {
  for (int64_t d = 0; d < v_dim; d += 16) {
    const int64_t n = min_of(int64_t{16}, v_dim - d);
    const V16 y = merged.max == kNothing ? zero() : load_part(merged.acc + d, n) / splat(merged.sum);
    store_part(out + d, y, n);
  }
}

}  // namespace skua::cpu::SKUA_ISA
