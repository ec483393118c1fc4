// The two products of attention over one page of 64 keys. Scores: one chain per (query, key) in ascending
// channel. Values: one chain per (query, channel) in ascending key, only over keys that the query may see, so
// that nothing unwritten is read into a sum.
#pragma once

#include "backend/cpu/args.h"
#include "backend/cpu/kernels/cache_element.h"
#include "backend/cpu/kernels/dot_tile.h"
#include "backend/cpu/kernels/simd.h"

namespace skua::cpu::SKUA_ISA {

constexpr int kMaxQueries = static_cast<int>(kAttentionQueries);
constexpr int kScoreQueries = kWide ? 4 : 2;  // of one register tile
constexpr int kScoreVectors = kWide ? 4 : 2;  // 16 keys each
constexpr int kValueQueries = kWide ? 4 : 2;  // of one register tile
constexpr int kValueVectors = kWide ? 4 : 2;  // 16 channels each
constexpr int kPageVectors = kPageTokens / 16;

/// kQ queries, 16 * kV keys from first_key.
template <int kQ, int kV, typename Element>
inline void score_registers(const float* const* q, const Element* k_page, int64_t k_dim, int64_t first_key,
                            float* const* scores) {
  V16 sum[kQ][kV];
  for (int i = 0; i < kQ; ++i) {
    for (int j = 0; j < kV; ++j) sum[i][j] = zero();
  }
  for (int64_t d = 0; d < k_dim; ++d) {
    V16 k[kV];
    for (int j = 0; j < kV; ++j) k[j] = load_cached(k_page + d * kPageTokens + first_key + 16 * j);
    for (int i = 0; i < kQ; ++i) {
      const V16 x = splat(q[i][d]);
      for (int j = 0; j < kV; ++j) sum[i][j] = fma(x, k[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kQ; ++i) {
    for (int j = 0; j < kV; ++j) store(scores[i] + first_key + 16 * j, sum[i][j]);
  }
}

/// scores[i][j] = q_i . k_j for keys [begin, end) of the page, and those that share a vector of 16 with them,
/// written or not. n_q <= kMaxQueries.
template <typename Element>
inline void score_tile(const float* const* q, int n_q, const Element* k_page, int64_t k_dim, int64_t begin,
                       int64_t end, float* const* scores) {
  for (int64_t key = begin / 16 * 16; key < end; key += 16 * kScoreVectors) {
    with_count<kScoreVectors>((end - key + 15) / 16, [&](auto vectors) {
      for (int i = 0; i < n_q; i += kScoreQueries) {
        with_count<kScoreQueries>(min_of(n_q - i, kScoreQueries), [&](auto queries) {
          score_registers<queries.kValue, vectors.kValue>(q + i, k_page, k_dim, key, scores + i);
        });
      }
    });
  }
}

/// Keys of a page: [begin, end), or those listed at [begin, end) of `list`, ascending.
struct PageKeys {
  int64_t begin = 0;
  int64_t end = 0;
  const int32_t* list = nullptr;
};

/// What the value products read and write: acc_i[d] += p_i[j] * v[j][d] for every key j, rows v_stride apart.
template <typename Element>
struct ValueTile {
  const Element* v = nullptr;
  int64_t v_dim = 0;
  int64_t v_stride = 0;
  PageKeys keys;
};

/// kQ queries, the 16 * kValueVectors channels from d.
template <int kQ, bool kListed, typename Element>
inline void value_registers(const ValueTile<Element>& tile, const float* const* p, float* const* acc,
                            int64_t d) {
  V16 sum[kQ][kValueVectors];
  for (int i = 0; i < kQ; ++i) {
    for (int c = 0; c < kValueVectors; ++c) sum[i][c] = load(acc[i] + d + 16 * c);
  }
  for (int64_t at = tile.keys.begin; at < tile.keys.end; ++at) {
    const int64_t j = kListed ? tile.keys.list[at] : at;
    V16 v[kValueVectors];
    for (int c = 0; c < kValueVectors; ++c) v[c] = load_cached(tile.v + j * tile.v_stride + d + 16 * c);
    for (int i = 0; i < kQ; ++i) {
      const V16 x = splat(p[i][j]);
      for (int c = 0; c < kValueVectors; ++c) sum[i][c] = fma(x, v[c], sum[i][c]);
    }
  }
  for (int i = 0; i < kQ; ++i) {
    for (int c = 0; c < kValueVectors; ++c) store(acc[i] + d + 16 * c, sum[i][c]);
  }
}

/// The n <= 16 channels from d, query by query.
template <bool kListed, typename Element>
inline void value_rest(const ValueTile<Element>& tile, const float* const* p, int n_q, float* const* acc,
                       int64_t d, int64_t n) {
  for (int i = 0; i < n_q; ++i) {
    V16 sum = load_part(acc[i] + d, n);
    for (int64_t at = tile.keys.begin; at < tile.keys.end; ++at) {
      const int64_t j = kListed ? tile.keys.list[at] : at;
      sum = fma(splat(p[i][j]), load_cached_part(tile.v + j * tile.v_stride + d, n), sum);
    }
    store_part(acc[i] + d, sum, n);
  }
}

template <bool kListed, typename Element>
inline void value_products(const ValueTile<Element>& tile, const float* const* p, int n_q,
                           float* const* acc) {
  constexpr int64_t kBlock = 16 * kValueVectors;
  int64_t d = 0;
  for (; d + kBlock <= tile.v_dim; d += kBlock) {  // a block of the rows stays near for all queries
    for (int i = 0; i < n_q; i += kValueQueries) {
      with_count<kValueQueries>(min_of(n_q - i, kValueQueries), [&](auto count) {
        value_registers<count.kValue, kListed>(tile, p + i, acc + i, d);
      });
    }
  }
  for (; d < tile.v_dim; d += 16)
    value_rest<kListed>(tile, p, n_q, acc, d, min_of(int64_t{16}, tile.v_dim - d));
}

/// All channels for n_q queries that see the same keys.
template <typename Element = float>
inline void value_tile(const ValueTile<Element>& tile, const float* const* p, int n_q, float* const* acc) {
  if (tile.keys.list == nullptr) {
    value_products<false>(tile, p, n_q, acc);
  } else {
    value_products<true>(tile, p, n_q, acc);
  }
}

constexpr int kScoreTokens = kWide ? 6 : 1;  // queries of one register tile that meet four rows

/// All products of a tile, out[x * out_stride + row]: a few queries stay near while rows go by.
inline void row_scores(const DotTile& tile, float* out, int64_t out_stride) {
  for (int64_t i = 0; i < tile.n_x; i += kScoreTokens) {
    with_count<kScoreTokens>(min_of(tile.n_x - i, int64_t{kScoreTokens}), [&](auto count) {
      for (int64_t row = 0; row < tile.n; row += kRowTile) {
        if (i == 0 && tile.w_rows == nullptr) {  // the first queries bring the rows near
          dot_registers<count.kValue, FloatRows<true>>(tile, tile.w, row, i, out, out_stride);
        } else {
          dot_registers<count.kValue, FloatRows<false>>(tile, tile.w, row, i, out, out_stride);
        }
      }
    });
  }
}

/// The same in the other order, for rows that are short: a few rows stay near while all queries go by.
inline void short_row_scores(const DotTile& tile, float* out, int64_t out_stride) {
  for (int64_t row = 0; row < tile.n; row += kRowTile) {
    for (int64_t i = 0; i < tile.n_x; i += kScoreTokens) {
      with_count<kScoreTokens>(min_of(tile.n_x - i, int64_t{kScoreTokens}), [&](auto count) {
        dot_registers<count.kValue, FloatRows<false>>(tile, tile.w, row, i, out, out_stride);
      });
    }
  }
}

}  // namespace skua::cpu::SKUA_ISA
