// The loop that every product of a panel shares. A format gives a cursor over the panel's blocks: seek()
// places it, next() loads the block it stands before and goes on, add() adds that block's products with one
// row of a tile to y. So each output's sum runs over the blocks of a run in ascending order, then over the
// row's remainders of that run, run after run, whatever the tile and the width of a vector.
#pragma once

#include "backend/cpu/kernels/panel_dot.h"

namespace skua::cpu::SKUA_ISA {

constexpr int kParts = static_cast<int>(kPanelRows) / Lanes::kCount;  // vectors that hold a panel's rows

/// How far ahead codes are asked for. Measured on Zen 5, one thread, decoding 135M weights: none 331 tok/s,
/// 2.5 KiB 359, 4 KiB 375, 6 KiB 391, 8 KiB 385, 16 KiB 367 (Q4_1); 8-bit weights gain 3 %.
constexpr int64_t kPrefetchBytes = 6144;

/// Always inlined: GCC 12 takes a function that only prefetches for one without effect and drops its calls.
[[gnu::always_inline]] inline void prefetch(const std::byte* at, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line);
}

/// The codes of a panel's blocks, for the rows of vector `part`.
template <int kBits>
struct CodeCursor {
  const std::byte *begin, *at;

  CodeCursor(const Panel& panel, int part) : begin(panel.codes + part * 4 * Lanes::kCount), at(begin) {}
  [[gnu::always_inline]] void seek(int64_t block) { at = begin + block * panel_block_bytes(kBits); }
  template <bool kAhead>
  [[gnu::always_inline]] void next(Lanes::I* codes) {
    if constexpr (kAhead) prefetch(at + kPrefetchBytes, panel_block_bytes(kBits));
    unpack_block<kBits>(at, codes);
    at += panel_block_bytes(kBits);
  }
};

template <typename Cursor, int kT>
void walk_panel(const Panel& panel, const std::byte* tile, float* out) {
  for (int part = 0; part < kParts; ++part) {
    Lanes::F y[kT];
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) y[t] = Lanes::zero();
    Cursor cursor(panel, part);
    const auto* x = reinterpret_cast<const QuantizedBlock<kT>*>(tile);
    const Remainder* rest = remainders(tile, panel.n_blocks, kT, 0);
    const int64_t rest_stride = n_refined(panel.n_blocks);
    for (int64_t left = panel.n_blocks; left > 0; left -= kRunBlocks) {
      const int64_t n_blocks = min_of(left, kRunBlocks);
      for (const auto* const end = x + n_blocks; x != end; ++x) {
        cursor.template next<true>();
#pragma GCC unroll 8
        for (int t = 0; t < kT; ++t) y[t] = cursor.add(y[t], *x, t);
      }
      const int64_t n_rest = refined_of_run(n_blocks);
#pragma GCC unroll 8
      for (int t = 0; t < kT; ++t) {
        const Remainder* r = rest + t * rest_stride;
        for (const Remainder* const end = r + n_rest; r != end; ++r) {
          Cursor at(panel, part);
          at.seek(r->block);
          at.template next<false>();
          y[t] = at.add(y[t], r->x, 0);
        }
      }
      rest += n_rest;
    }
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) Lanes::store(out + t * kPanelRows + part * Lanes::kCount, y[t]);
  }
}

/// The kernels of a cursor for every tile.
template <typename Cursor>
const PanelKernels& walking_kernels() {
  static constexpr PanelKernels kAll = [] {
    PanelKernels all;
    all.by_rows[1] = walk_panel<Cursor, 1>;
    all.by_rows[2] = walk_panel<Cursor, 2>;
    all.by_rows[4] = walk_panel<Cursor, 4>;
    if constexpr (kTileRows == 8) all.by_rows[8] = walk_panel<Cursor, 8>;
    return all;
  }();
  return kAll;
}

/// Kernels of Q2_K to Q6_K, and of formats whose codes name numbers of a table.
const PanelKernels& k_quant_kernels(const PanelFormat& format);
const PanelKernels& table_kernels(const PanelFormat& format);

}  // namespace skua::cpu::SKUA_ISA
