// The two products of attention over one page of 64 keys. Scores: one chain per (query, key) in ascending
// channel. Values: one chain per (query, channel) in ascending key, only over keys that the query may see, so
// that nothing unwritten is read into a sum.
#pragma once

#include "backend/cpu/args.h"
#include "backend/cpu/kernels/dot_tile.h"
#include "backend/cpu/kernels/simd.h"

namespace skua::cpu::SKUA_ISA {

constexpr int kMaxQueries = static_cast<int>(kAttentionQueries);
constexpr int kScoreQueries = kWide ? 4 : 2;  // of one register tile
constexpr int kScoreVectors = kWide ? 4 : 2;  // 16 keys each
constexpr int kValueQueries = kWide ? 4 : 2;  // of one register tile
constexpr int kValueVectors = kWide ? 4 : 2;  // 16 channels each
constexpr int kPageVectors = kPageTokens / 16;

template <int kQ>
inline void score_registers(const float* const* q, const float* k_page, int64_t k_dim, int64_t first_key,
                            float* const* scores) {
  V16 sum[kQ][kScoreVectors];
  for (int i = 0; i < kQ; ++i) {
    for (int j = 0; j < kScoreVectors; ++j) sum[i][j] = zero();
  }
  for (int64_t d = 0; d < k_dim; ++d) {
    V16 k[kScoreVectors];
    for (int j = 0; j < kScoreVectors; ++j) k[j] = load(k_page + d * kPageTokens + first_key + 16 * j);
    for (int i = 0; i < kQ; ++i) {
      const V16 x = splat(q[i][d]);
      for (int j = 0; j < kScoreVectors; ++j) sum[i][j] = fma(x, k[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kQ; ++i) {
    for (int j = 0; j < kScoreVectors; ++j) store(scores[i] + first_key + 16 * j, sum[i][j]);
  }
}

/// scores[i][0..64) = q_i . k for all keys of the page, those not written included. n_q <= kMaxQueries.
inline void score_tile(const float* const* q, int n_q, const float* k_page, int64_t k_dim,
                       float* const* scores) {
  for (int64_t key = 0; key < kPageTokens; key += 16 * kScoreVectors) {
    for (int i = 0; i < n_q; i += kScoreQueries) {
      with_count<kScoreQueries>(min_of(n_q - i, kScoreQueries), [&](auto count) {
        score_registers<count.kValue>(q + i, k_page, k_dim, key, scores + i);
      });
    }
  }
}

/// acc_i[0..v_dim) += p_i[j] * v[j], whose rows are v_stride apart, for j in [begin, end), for kQ queries of
/// the same range.
template <int kQ>
inline void value_registers(const float* const* p, const float* v_page, int64_t v_dim, int64_t v_stride,
                            int64_t begin, int64_t end, float* const* acc) {
  int64_t d = 0;
  for (; d + 16 * kValueVectors <= v_dim; d += 16 * kValueVectors) {
    V16 sum[kQ][kValueVectors];
    for (int i = 0; i < kQ; ++i) {
      for (int c = 0; c < kValueVectors; ++c) sum[i][c] = load(acc[i] + d + 16 * c);
    }
    for (int64_t j = begin; j < end; ++j) {
      V16 v[kValueVectors];
      for (int c = 0; c < kValueVectors; ++c) v[c] = load(v_page + j * v_stride + d + 16 * c);
      for (int i = 0; i < kQ; ++i) {
        const V16 x = splat(p[i][j]);
        for (int c = 0; c < kValueVectors; ++c) sum[i][c] = fma(x, v[c], sum[i][c]);
      }
    }
    for (int i = 0; i < kQ; ++i) {
      for (int c = 0; c < kValueVectors; ++c) store(acc[i] + d + 16 * c, sum[i][c]);
    }
  }
  for (; d < v_dim; d += 16) {
    const int64_t n = min_of(int64_t{16}, v_dim - d);
    for (int i = 0; i < kQ; ++i) {
      V16 sum = load_part(acc[i] + d, n);
      for (int64_t j = begin; j < end; ++j)
        sum = fma(splat(p[i][j]), load_part(v_page + j * v_stride + d, n), sum);
      store_part(acc[i] + d, sum, n);
    }
  }
}

/// The same for n_q queries of one range.
inline void value_tile(const float* const* p, int n_q, const float* v_page, int64_t v_dim, int64_t v_stride,
                       int64_t begin, int64_t end, float* const* acc) {
  for (int i = 0; i < n_q; i += kValueQueries) {
    with_count<kValueQueries>(min_of(n_q - i, kValueQueries), [&](auto count) {
      value_registers<count.kValue>(p + i, v_page, v_dim, v_stride, begin, end, acc + i);
    });
  }
}

/// The scores against a latent page: rows of `width` floats; queries and their scores lie `stride` apart.
inline void latent_score_tile(const float* queries, int n_q, const float* page, int64_t width, float* scores,
                              int64_t stride) {
  const DotTile tile{.w = page,
                     .w_stride = width,
                     .n = kPageTokens,
                     .x = queries,
                     .x_stride = stride,
                     .n_x = n_q,
                     .k = width};
  dot_direct<FloatRows<true>>(tile, page, scores, stride);
}

}  // namespace skua::cpu::SKUA_ISA
