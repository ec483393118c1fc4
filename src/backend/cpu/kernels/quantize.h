// Activation rows as whole numbers ("s8r"), a pure function of the row. Per block of 32 columns: scale
// amax/16256 and codes of 15 bits, rounded to nearest even. A code is 128 * high + low, high in [-127, 127]
// and low in [-64, 63]. Products take the high part of every block. The low part, called the remainder, they
// take of three blocks in each run of sixteen: those whose amax is largest, the earlier of equals. There what
// is left out would weigh most (docs/checkpoints.md). A block below 2^-100 is zero. A block with a NaN or
// infinity gets scale NaN, so that it reaches every output.
//
// Rows that a kernel handles together lie together: a tile of 8, 4, 2 or 1 rows holds, block after block, the
// codes of its rows, then their numbers; so a kernel walks one pointer. Behind them lie the remainders, row
// after row.
#pragma once

#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/panels.h"

namespace skua::cpu::SKUA_ISA {

/// One block of a tile of kT rows.
template <int kT>
struct QuantizedBlock {
  int8_t codes[kT][kPanelCols];
  float scale[kT];        // amax / 127
  float sum[kT];          // scale times the sum of the codes
  int32_t minus_8[kT];    // -8 times the sum of the codes
  int32_t minus_128[kT];  // -128 times
  int32_t first_8[kT];    // -8 times the sum of the first 16 codes
};
static_assert(sizeof(QuantizedBlock<1>) == kQuantizedBlockBytes);
static_assert(sizeof(QuantizedBlock<8>) == 8 * kQuantizedBlockBytes);

/// What the codes of one block of one row leave; its scale is amax / 16256.
struct Remainder {
  int32_t block;
  QuantizedBlock<1> x;
};
static_assert(sizeof(Remainder) == kRemainderBytes);

/// The remainders of row `index` of a tile of `rows` rows, n_refined(n_blocks) of them, in ascending order of
/// their blocks.
inline const Remainder* remainders(const std::byte* tile, int64_t n_blocks, int rows, int index) {
  return reinterpret_cast<const Remainder*>(tile + rows * n_blocks * kQuantizedBlockBytes) +
         index * n_refined(n_blocks);
}

constexpr int kTileRows = kWide ? 8 : 4;  // rows of the largest tile

/// Rows of the tile that row t belongs to, in a batch of n: full tiles first, then 4, 2, 1.
inline int tile_rows_at(int64_t t, int64_t n) {
  for (int rows = kTileRows; rows > 1; rows /= 2) {
    if (t < n / rows * rows) return rows;
  }
  return 1;
}

/// Quantizes x[0, k) as row `index` of a tile of `rows` rows; k is a multiple of 32.
void quantize_row(const float* x, int64_t k, int rows, int index, std::byte* tile);

}  // namespace skua::cpu::SKUA_ISA
