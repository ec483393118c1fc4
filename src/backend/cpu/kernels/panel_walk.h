// The loop that every product of a panel shares. A format gives a cursor over the panel's blocks: next()
// loads the block it stands before, add() adds that block's products with one row of a tile to y. So each
// output's sum runs over the blocks in ascending order, whatever the tile and the width of a vector.
#pragma once

#include "backend/cpu/kernels/panel_dot.h"

namespace skua::cpu::SKUA_ISA {

constexpr int kParts = static_cast<int>(kPanelRows) / Lanes::kCount;  // vectors that hold a panel's rows

/// How far ahead codes are asked for. Measured on Zen 5, one thread, decoding 135M weights: none 331 tok/s,
/// 2.5 KiB 359, 4 KiB 375, 6 KiB 391, 8 KiB 385, 16 KiB 367 (Q4_1); 8-bit weights gain 3 %.
constexpr int64_t kPrefetchBytes = 6144;

inline void prefetch(const std::byte* at, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line);
}

/// The codes of a panel's blocks, for the rows of vector `part`.
template <int kBits>
struct CodeCursor {
  const std::byte* at;

  CodeCursor(const Panel& panel, int part) : at(panel.codes + part * 4 * Lanes::kCount) {}
  void next(Lanes::I* codes) {
    prefetch(at + kPrefetchBytes, panel_block_bytes(kBits));
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
    for (const auto* const end = x + panel.n_blocks; x != end; ++x) {
      cursor.next();
#pragma GCC unroll 8
      for (int t = 0; t < kT; ++t) y[t] = cursor.add(y[t], *x, t);
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
