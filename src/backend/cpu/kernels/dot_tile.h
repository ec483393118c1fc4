// Products of a tile of weight rows with rows of activations. Each product is one chain: 16 lanes (k mod 16)
// of fused multiply-adds in ascending k, folded in the tree of reduce_add. So it depends on neither the
// number of rows nor the tiling. Few activation rows: the chains stay in registers from end to end, and
// 16-bit weights are widened on the way. Many: columns are taken in blocks that stay in the first cache
// level, and open chains are kept in memory between them.
#pragma once

#include "backend/cpu/kernels/simd.h"
#include "tensor/format.h"

namespace skua::cpu::SKUA_ISA {

/// `n` weight rows of `k` numbers, `w_stride` numbers apart: f32 at w; or, to meet few activation rows, as
/// the model stores them at `stored`. `n_x` rows of x likewise.
struct DotTile {
  const float* w = nullptr;
  const std::byte* stored = nullptr;
  FormatKind stored_kind = FormatKind::kBF16;  // or kF16, kF32
  int64_t w_stride = 0;
  int64_t n = 0;
  const int32_t* w_rows = nullptr;  // which rows of w; nullptr = 0, 1, ... (dot_registers alone looks at it)
  const float* x = nullptr;
  int64_t x_stride = 0;
  int64_t n_x = 0;
  const int32_t* x_rows = nullptr;  // which rows of x; nullptr = 0, 1, ...
  int64_t k = 0;

  /// Numbers before row i of w.
  int64_t w_begin(int64_t i) const { return (w_rows == nullptr ? i : w_rows[i]) * w_stride; }
  const float* x_row(int64_t token) const {
    return x + (x_rows == nullptr ? token : x_rows[token]) * x_stride;
  }
};

constexpr int kRowTile = 4;                     // weight rows of one register tile
constexpr int kTokenTile = kWide ? 6 : 3;       // activation rows of one register tile, many rows
constexpr int kDirectTokens = kWide ? 2 : 1;    // the same, few rows, from end to end
constexpr int64_t kDotColumns = 512;            // of a block
constexpr int64_t kDotTokens = 4 * kTokenTile;  // activation rows whose open chains are kept
constexpr int64_t kDotRows = 32;                // most rows of a tile

template <int kN>
struct Count {
  static constexpr int kValue = kN;
};

/// fn(integral constant) for n in [1, kMost]: register tiles are compiled for each number.
template <int kMost, typename Fn>
inline void with_count(int64_t n, const Fn& fn) {
  if constexpr (kMost > 1) {
    if (n < kMost) return with_count<kMost - 1>(n, fn);
  }
  fn(Count<kMost>{});
}

/// Weight rows in f32. kAhead: they come from memory, so the rows that follow are asked for on the way.
template <bool kFromMemory>
struct FloatRows {
  using Element = float;
  static constexpr bool kAhead = kFromMemory;
  static V16 get(const float* p) { return load(p); }
  static V16 get_part(const float* p, int64_t n) { return load_part(p, n); }
};

/// Weight rows in bf16 or f16.
template <FormatKind kKind>
struct HalfRows {
  using Element = uint16_t;
  static constexpr bool kAhead = true;
  static V16 get(const uint16_t* p) {
    const auto* bytes = reinterpret_cast<const std::byte*>(p);
    if constexpr (kKind == FormatKind::kF16) return load_f16(bytes);
    return as_float(shift_left<16>(widen_u16(bytes)));
  }
  static V16 get_part(const uint16_t* p, int64_t n) {
    uint16_t whole[16] = {};
    __builtin_memcpy(whole, p, static_cast<size_t>(n) * sizeof(uint16_t));
    return get(whole);
  }
};

/// kX x kRowTile products from end to end: out[i * out_stride + r] for r < n_valid. Rows beyond n_valid
/// repeat the last.
template <int kX, typename Rows>
inline void dot_registers(const DotTile& tile, const typename Rows::Element* weights, int64_t row,
                          int64_t token, float* out, int64_t out_stride) {
  const int64_t n_valid = min_of(tile.n - row, int64_t{kRowTile});
  const typename Rows::Element* w[kRowTile];
  const float* x[kX];
  for (int r = 0; r < kRowTile; ++r) w[r] = weights + tile.w_begin(row + min_of(int64_t{r}, n_valid - 1));
  for (int i = 0; i < kX; ++i) x[i] = tile.x_row(token + i);
  V16 sum[kX][kRowTile];
  for (int i = 0; i < kX; ++i) {
    for (int r = 0; r < kRowTile; ++r) sum[i][r] = zero();
  }
  const auto step = [&](auto get_w, auto get_x) {
    V16 wv[kRowTile];
    for (int r = 0; r < kRowTile; ++r) wv[r] = get_w(w[r]);
    for (int i = 0; i < kX; ++i) {
      const V16 xv = get_x(x[i]);
      for (int r = 0; r < kRowTile; ++r) sum[i][r] = fma(xv, wv[r], sum[i][r]);
    }
  };
  int64_t k = 0;
  for (; k + 16 <= tile.k; k += 16) {
    if constexpr (Rows::kAhead) {  // the same share of the next kRowTile rows, in the order in which they lie
      constexpr int64_t kBytes = 16 * kRowTile * sizeof(typename Rows::Element);
      const auto* next = reinterpret_cast<const char*>(weights + (row + kRowTile) * tile.w_stride);
      for (int64_t line = 0; line < kBytes; line += 64)
        __builtin_prefetch(next + k / 16 * kBytes + line, 0, 2);
    }
    step([&](auto* p) { return Rows::get(p + k); }, [&](auto* p) { return load(p + k); });
  }
  if (const int64_t n = tile.k - k; n > 0) {
    step([&](auto* p) { return Rows::get_part(p + k, n); }, [&](auto* p) { return load_part(p + k, n); });
  }
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

/// All products of a tile, from end to end.
template <typename Rows>
inline void dot_direct(const DotTile& tile, const typename Rows::Element* weights, float* out,
                       int64_t out_stride) {
  for (int64_t t = 0; t < tile.n_x; t += kDirectTokens) {
    with_count<kDirectTokens>(min_of(tile.n_x - t, int64_t{kDirectTokens}), [&](auto count) {
      for (int64_t r = 0; r < tile.n; r += kRowTile)
        dot_registers<count.kValue, Rows>(tile, weights, r, t, out, out_stride);
    });
  }
}

/// Open chains of a tile: 16 lanes per activation row and weight row.
using OpenChains = float (*)[kDotRows][16];

/// Columns [begin, end), a whole number of vectors, of kX x kRowTile chains. A vector of the machine's own
/// width at a time, so that the narrow one has registers enough.
template <int kX>
inline void dot_columns(const float* const* w, const float* const* x, int64_t begin, int64_t end,
                        OpenChains chains) {
  for (int first = 0; first < 16; first += Native::kCount) {
    Native::F sum[kX][kRowTile];
    for (int i = 0; i < kX; ++i) {
      for (int r = 0; r < kRowTile; ++r)
        sum[i][r] = begin == 0 ? Native::zero() : Native::load(&chains[i][r][first]);
    }
    for (int64_t k = begin + first; k < end; k += 16) {
      Native::F xv[kX];
      for (int i = 0; i < kX; ++i) xv[i] = Native::load(x[i] + k);
      for (int r = 0; r < kRowTile; ++r) {
        const Native::F wv = Native::load(w[r] + k);
        for (int i = 0; i < kX; ++i) sum[i][r] = Native::fma(xv[i], wv, sum[i][r]);
      }
    }
    for (int i = 0; i < kX; ++i) {
      for (int r = 0; r < kRowTile; ++r) Native::store(&chains[i][r][first], sum[i][r]);
    }
  }
}

/// Columns [begin, end) of the chains of activation rows [token, token + kX) with all weight rows.
template <int kX>
inline void dot_block(const DotTile& tile, int64_t token, int64_t begin, int64_t end, OpenChains chains) {
  const int64_t whole = begin + (end - begin) / 16 * 16;
  const float* x[kX];
  for (int i = 0; i < kX; ++i) x[i] = tile.x_row(token + i);
  for (int64_t row = 0; row < tile.n; row += kRowTile) {
    const float* w[kRowTile];
    for (int r = 0; r < kRowTile; ++r) w[r] = tile.w + min_of(row + r, tile.n - 1) * tile.w_stride;
    const auto mine = reinterpret_cast<OpenChains>(&chains[0][row]);
    if (whole > begin) dot_columns<kX>(w, x, begin, whole, mine);
    if (whole == end) continue;
    for (int i = 0; i < kX; ++i) {
      for (int r = 0; r < kRowTile; ++r) {
        const V16 sum = whole == 0 ? zero() : load(mine[i][r]);
        const V16 xv = load_part(x[i] + whole, end - whole), wv = load_part(w[r] + whole, end - whole);
        store(mine[i][r], fma(xv, wv, sum));
      }
    }
  }
}

/// All products of a tile, block of columns by block of columns.
inline void dot_blocks(const DotTile& tile, float* out, int64_t out_stride) {
  alignas(64) float chains[kDotTokens][kDotRows][16];
  for (int64_t first = 0; first < tile.n_x; first += kDotTokens) {
    const int64_t n = min_of(kDotTokens, tile.n_x - first);
    for (int64_t k = 0; k < tile.k; k += kDotColumns) {
      for (int64_t t = 0; t < n; t += kTokenTile) {
        with_count<kTokenTile>(min_of(n - t, int64_t{kTokenTile}), [&](auto count) {
          dot_block<count.kValue>(tile, first + t, k, min_of(k + kDotColumns, tile.k), chains + t);
        });
      }
    }
    for (int64_t t = 0; t < n; ++t) {
      for (int64_t r = 0; r < tile.n; r += kRowTile) {
        const auto* c = &chains[t][r];
        float lanes[kRowTile];
        _mm_storeu_ps(lanes, reduce_add4(load(c[0]), load(c[1]), load(c[2]), load(c[3])));
        for (int64_t i = 0; i < min_of(tile.n - r, int64_t{kRowTile}); ++i)
          out[(first + t) * out_stride + r + i] = lanes[i];
      }
    }
  }
}

/// All products of a tile: out[t * out_stride + r].
inline void dot_tile(const DotTile& tile, float* out, int64_t out_stride) {
  if (tile.stored != nullptr) {
    const auto* halves = reinterpret_cast<const uint16_t*>(tile.stored);
    if (tile.stored_kind == FormatKind::kF32) {
      dot_direct<FloatRows<true>>(tile, reinterpret_cast<const float*>(tile.stored), out, out_stride);
    } else if (tile.stored_kind == FormatKind::kF16) {
      dot_direct<HalfRows<FormatKind::kF16>>(tile, halves, out, out_stride);
    } else {
      dot_direct<HalfRows<FormatKind::kBF16>>(tile, halves, out, out_stride);
    }
  } else if (tile.n_x <= kDirectTokens) {
    dot_direct<FloatRows<false>>(tile, tile.w, out, out_stride);
  } else {
    dot_blocks(tile, out, out_stride);
  }
}

}  // namespace skua::cpu::SKUA_ISA
