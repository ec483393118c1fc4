// Shared by ops that handle each row or element alone: how work is cut, and sums in one fixed tree.
#pragma once

#include "backend/cpu/kernels/call.h"

namespace skua::cpu::SKUA_ISA {

constexpr int64_t kElementGrain = 2048;  // elements below which a second thread does not pay

inline int64_t row_grain(int64_t width) {
  return max_of(int64_t{1}, kElementGrain / max_of(width, int64_t{1}));
}

/// fn(offset, count) for each vector of [0, n); count < 16 only for the last.
template <typename Fn>
inline void each_vector(int64_t begin, int64_t end, Fn&& fn) {
  int64_t k = begin;
  for (; k + 16 <= end; k += 16)
    fn([&](const float* p) { return load(p + k); }, [&](float* p, V16 v) { store(p + k, v); });
  if (k < end) {
    const int64_t n = end - k;
    fn([&](const float* p) { return load_part(p + k, n); },
       [&](float* p, V16 v) { store_part(p + k, v, n); });
  }
}

template <typename Fn>
inline void elementwise(const Call<ElementArgs>& call, Fn&& fn) {
  call.ranges(call.n_rows() * call.args.width, kElementGrain,
              [&](int64_t begin, int64_t end) { each_vector(begin, end, fn); });
}

/// Sum of a term of x[k] over [0, n): four vectors of 16 lanes (k mod 64), added pairwise, then folded.
/// `add(sum, v)` adds the terms of one vector; lanes past the end add nothing.
template <typename Add>
inline float row_sum(const float* x, int64_t n, Add&& add) {
  V16 sum[4] = {zero(), zero(), zero(), zero()};
  int64_t k = 0;
  for (; k + 64 <= n; k += 64) {
    for (int j = 0; j < 4; ++j) sum[j] = add(sum[j], load(x + k + 16 * j));
  }
  for (int j = 0; k < n; k += 16, ++j) {
    const int64_t count = min_of(n - k, int64_t{16});
    const V16 with = add(sum[j], load_part(x + k, count));
    sum[j] = select(lanes_between(0, count), with, sum[j]);
  }
  return reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace skua::cpu::SKUA_ISA
