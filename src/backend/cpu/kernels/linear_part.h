// What the matrix products share: activations in f32 and quantized, and a weight whose rows are decoded or
// lie in panels.
#pragma once

#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/dot_tile.h"
#include "backend/cpu/kernels/panel_dot.h"

namespace skua::cpu::SKUA_ISA {

constexpr int64_t kBlockTokens = kWide ? 24 : 8;  // products held on the stack at a time
static_assert(kLinearTileRows <= kDotRows);

/// Rows decoded at a time: few rows of activations keep the tile in the first cache level, many reuse it.
inline int64_t decoded_rows(int64_t n_x) { return n_x < 8 ? kRowTile : kLinearTileRows; }

/// The activations of a step, in f32 and, when a part needs them, quantized.
struct Input {
  const float* x = nullptr;
  int64_t n = 0;
  int64_t k = 0;
  std::byte* quantized = nullptr;
  const int32_t* index = nullptr;  // which rows of x; nullptr = 0, 1, ...

  const float* row(int64_t t) const { return x + (index == nullptr ? t : index[t]) * k; }
  /// Tile of quantized rows that starts at row t.
  std::byte* tile(int64_t t) const { return quantized + t * quantized_row_bytes(k); }
  void quantize(int64_t begin, int64_t end) const {
    for (int64_t t = begin; t < end;) {
      const int rows = tile_rows_at(t, n);
      const int64_t first = t / rows * rows;  // tiles start at multiples of their size
      for (; t < min_of(first + rows, end); ++t) {
        quantize_row(row(t), k, rows, static_cast<int>(t - first), tile(first));
      }
    }
  }
};

/// A part's weight, and where its products come from.
struct PartView {
  const LinearPart& part;
  PlaneView planes;
  const float* bias;
  DecodeFn decode = nullptr;
  const PanelKernels* panels = nullptr;
  int64_t group_blocks = 1;

  PartView(const LinearPart& p, std::byte* const* operands)
      : part(p),
        planes{operands[p.weight_operand], &p.weight},
        bias(p.bias_operand < 0 ? nullptr : reinterpret_cast<const float*>(operands[p.bias_operand])) {
    if (p.order == WeightOrder::kPanels) {
      panels = &panel_kernels(p.panel);
      group_blocks = p.panel.group_cols / kPanelCols;
    } else {
      decode = decoder(p.weight.format);
    }
  }

  bool in_panels() const { return panels != nullptr; }

  /// Rows [begin, begin + n), to meet n_x rows of activations: in f32, where they lie or decoded to
  /// `scratch`; 16-bit ones as stored where few rows meet them.
  DotTile load_rows(int64_t begin, int64_t n, int64_t n_x, float* scratch) const {
    DotTile tile{.n = n, .k = part.weight.cols};
    const FormatKind kind = part.weight.format.kind;
    if (n_x <= kDirectTokens && part.weight.format.is_plain()) {
      tile.stored = planes.row(0, begin);
      tile.stored_kind = kind;
      tile.w_stride = part.weight.cols;
      return tile;
    }
    if (kind == FormatKind::kF32) {
      tile.w = reinterpret_cast<const float*>(planes.row(0, begin));
      tile.w_stride = part.weight.cols;
      return tile;
    }
    tile.w = scratch;
    tile.w_stride = scratch_stride(part.weight.cols);
    for (int64_t r = 0; r < n; ++r) {
      decode({planes.row(0, begin + r), planes.row(1, begin + r), planes.row(2, begin + r),
              part.weight.format.group},
             part.weight.cols, scratch + r * tile.w_stride);
    }
    return tile;
  }

  /// Products of 16 weight rows from `row` on, which need not be where a panel starts, with activation rows
  /// [t, t + n), n <= kBlockTokens: out[i * 16 + r], of which the first n_rows count.
  void rows_in_panels(const Input& input, int64_t row, int64_t n_rows, int64_t t, int64_t n,
                      float* out) const {
    const int64_t skip = row % kPanelRows;
    panel(input, row, t, n, out);
    if (skip == 0) return;
    float next[kBlockTokens * kPanelRows] = {};
    if (skip + n_rows > kPanelRows) panel(input, row + kPanelRows, t, n, next);
    for (int64_t i = 0; i < n * kPanelRows; i += kPanelRows) {
      for (int64_t r = 0; r < kPanelRows; ++r) {
        const int64_t from = skip + r;
        out[i + r] = from < kPanelRows ? out[i + from] : next[i + from - kPanelRows];
      }
    }
  }

  /// Products of the panel that holds weight row `row` with activation rows [t, t + n): out[i * 16 + r].
  void panel(const Input& input, int64_t row, int64_t t, int64_t n, float* out) const {
    const int64_t index = row / kPanelRows;
    const Panel at{.codes = planes.row(0, index),
                   .scales = planes.row(1, index),
                   .offsets = planes.row(2, index),
                   .n_blocks = part.weight.cols / kPanelCols,
                   .group_blocks = group_blocks};
    for (const int64_t end = t + n; t < end;) {
      const int rows = tile_rows_at(t, input.n);
      panels->by_rows[rows](at, input.tile(t), out);
      out += rows * kPanelRows;
      t += rows;
    }
  }

  /// Adds the bias to out[t * stride + i], i < n, whose first column is weight row `begin`.
  void add_bias(int64_t begin, int64_t n, int64_t n_x, float* out, int64_t stride) const {
    if (bias == nullptr) return;
    for (int64_t t = 0; t < n_x; ++t) {
      float* y = out + t * stride;
      for (int64_t i = 0; i < n; ++i) y[i] = y[i] + bias[begin + i];
    }
  }
};

/// Weight rows of a thread's share: whole panels, and work worth a thread.
inline int64_t thread_grain(int64_t k, int64_t n_x) {
  constexpr int64_t kMinimumWork = 65536;  // multiply-adds
  const int64_t rows = kMinimumWork / max_of(int64_t{1}, k * n_x) + 1;
  return (rows + kPanelRows - 1) / kPanelRows * kPanelRows;
}

}  // namespace skua::cpu::SKUA_ISA
