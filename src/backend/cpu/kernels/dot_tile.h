// Products of a tile of f32 weight rows with rows of activations. Each product is one chain: 16 lanes (k mod
// 16) of fused multiply-adds in ascending k, folded in the tree of reduce_add. So it depends on neither the
// number of rows nor the tiling.
#pragma once

#include "backend/cpu/kernels/simd.h"

namespace skua::cpu::SKUA_ISA {

/// `n` weight rows of `k` floats at w, `w_stride` apart; x likewise.
struct DotTile {
  const float* w = nullptr;
  int64_t w_stride = 0;
  int64_t n = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  int64_t n_x = 0;
  const int32_t* x_rows = nullptr;  // which rows of x; nullptr = 0, 1, ...
  int64_t k = 0;
};

constexpr int kRowTile = 4;                // weight rows of one register tile
constexpr int kTokenTile = kWide ? 6 : 1;  // activation rows of one register tile

/// kX x kRowTile products: out[i * out_stride + r] for r < n_valid. Rows beyond n_valid repeat the last.
template <int kX>
inline void dot_registers(const DotTile& tile, int64_t row, int64_t token, float* out, int64_t out_stride) {
  const int64_t n_valid = min_of(tile.n - row, int64_t{kRowTile});
  const float* w[kRowTile];
  const float* x[kX];
  for (int r = 0; r < kRowTile; ++r) w[r] = tile.w + (row + min_of(int64_t{r}, n_valid - 1)) * tile.w_stride;
  for (int i = 0; i < kX; ++i) {
    const int64_t at = tile.x_rows == nullptr ? token + i : tile.x_rows[token + i];
    x[i] = tile.x + at * tile.x_stride;
  }
  V16 sum[kX][kRowTile];
  for (int i = 0; i < kX; ++i) {
    for (int r = 0; r < kRowTile; ++r) sum[i][r] = zero();
  }
  const auto step = [&](auto get) {
    V16 wv[kRowTile];
    for (int r = 0; r < kRowTile; ++r) wv[r] = get(w[r]);
    for (int i = 0; i < kX; ++i) {
      const V16 xv = get(x[i]);
      for (int r = 0; r < kRowTile; ++r) sum[i][r] = fma(xv, wv[r], sum[i][r]);
    }
  };
  int64_t k = 0;
  for (; k + 16 <= tile.k; k += 16) step([&](const float* p) { return load(p + k); });
  if (k < tile.k) step([&](const float* p) { return load_part(p + k, tile.k - k); });
  for (int i = 0; i < kX; ++i) {
    const __m128 four = reduce_add4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    float* to = out + (token + i) * out_stride + row;
    if (n_valid == kRowTile) {
      _mm_storeu_ps(to, four);
    } else {
      float lanes[4];
      _mm_storeu_ps(lanes, four);
      for (int64_t r = 0; r < n_valid; ++r) to[r] = lanes[r];
    }
  }
}

/// All products of a tile: out[t * out_stride + r].
inline void dot_tile(const DotTile& tile, float* out, int64_t out_stride) {
  int64_t t = 0;
  for (; t + kTokenTile <= tile.n_x; t += kTokenTile) {
    for (int64_t r = 0; r < tile.n; r += kRowTile) dot_registers<kTokenTile>(tile, r, t, out, out_stride);
  }
  for (; t < tile.n_x; ++t) {
    for (int64_t r = 0; r < tile.n; r += kRowTile) dot_registers<1>(tile, r, t, out, out_stride);
  }
}

}  // namespace skua::cpu::SKUA_ISA
