// Matrix products. Output rows (weight rows) are dealt to threads in tiles. Weights in panels meet quantized
// activations (panel_dot.h); others are decoded a tile at a time into the thread's workspace and meet f32
// activations (dot_tile.h). Each weight has one arithmetic, the same in linear, multi_linear and
// gated_linear, so fusing changes no bit.
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/dot_tile.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/panel_dot.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kBlockTokens = kWide ? 24 : 8;  // products held on the stack at a time
constexpr int64_t kPassTokens =
    4 * kBlockTokens;  // activation rows that stay in cache during a pass of panels

/// Rows decoded at a time: few rows of activations keep the tile in the first cache level, many reuse it.
int64_t decoded_rows(int64_t n_x) { return n_x < 8 ? kRowTile : kLinearTileRows; }

/// The activations of a step, in f32 and, when a part needs them, quantized.
struct Input {
  const float* x = nullptr;
  int64_t n = 0;
  int64_t k = 0;
  std::byte* quantized = nullptr;

  const float* row(int64_t t) const { return x + t * k; }
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

  /// Rows [begin, begin + n) in f32: where they lie, or decoded to `scratch`.
  DotTile load_rows(int64_t begin, int64_t n, float* scratch) const {
    DotTile tile{.n = n, .k = part.weight.cols};
    if (part.weight.format.kind == FormatKind::kF32) {
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

  /// Products of the panel that starts at weight row `row` with activation rows [t, t + n): out[i * 16 + r].
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

/// fn(row, n_rows, token, n_tokens) over blocks of activation rows and tiles of kPanelRows weight rows.
template <typename Fn>
void each_panel_block(int64_t begin, int64_t end, int64_t n_x, const Fn& fn) {
  for (int64_t pass = 0; pass < n_x; pass += kPassTokens) {
    const int64_t pass_end = min_of(pass + kPassTokens, n_x);
    for (int64_t row = begin; row < end; row += kPanelRows) {
      const int64_t n_rows = min_of(kPanelRows, end - row);
      for (int64_t t = pass; t < pass_end; t += kBlockTokens) {
        fn(row, n_rows, t, min_of(kBlockTokens, pass_end - t));
      }
    }
  }
}

/// Rows [begin, end) of one part, for all activation rows; `begin` is a multiple of kPanelRows.
void linear_rows(const PartView& view, const Input& input, int64_t begin, int64_t end, float* y,
                 float* scratch) {
  const int64_t stride = view.part.weight.rows;
  if (view.in_panels()) {
    each_panel_block(begin, end, input.n, [&](int64_t row, int64_t n_rows, int64_t t, int64_t n_t) {
      float products[kBlockTokens * kPanelRows];
      view.panel(input, row, t, n_t, products);
      view.add_bias(row, n_rows, n_t, products, kPanelRows);
      for (int64_t i = 0; i < n_t; ++i) {
        store_part(y + (t + i) * stride + row, load(products + i * kPanelRows), n_rows);
      }
    });
    return;
  }
  const int64_t step = decoded_rows(input.n);
  for (int64_t row = begin; row < end; row += step) {
    DotTile tile = view.load_rows(row, min_of(step, end - row), scratch);
    tile.x = input.x;
    tile.x_stride = input.k;
    tile.n_x = input.n;
    dot_tile(tile, y + row, stride);
    view.add_bias(row, tile.n, input.n, y + row, stride);
  }
}

/// Weight rows of a thread's share: whole panels, and work worth a thread.
int64_t thread_grain(int64_t k, int64_t n_x) {
  constexpr int64_t kMinimumWork = 65536;  // multiply-adds
  const int64_t rows = kMinimumWork / max_of(int64_t{1}, k * n_x) + 1;
  return (rows + kPanelRows - 1) / kPanelRows * kPanelRows;
}

int64_t padded_rows(const LinearPart& part) { return n_panels(part.weight.rows) * kPanelRows; }

/// fn(input, thread, begin, end) on ranges of [0, n_rows) weight rows. Quantizes first where a part asks for
/// it; many rows in a region of their own.
template <typename Fn>
void deal_rows(const Call<LinearArgs>& call, int64_t n_rows, const Fn& fn) {
  Input input{.x = call.input(0), .n = call.n_rows(), .k = call.args.k};
  if (input.n <= 0) return;
  bool quantized = false;
  for (const LinearPart& part : call.args.parts) quantized = quantized || part.order == WeightOrder::kPanels;
  if (quantized) {
    input.quantized = call.operands[call.args.workspace];
    call.ranges(input.n, max_of(int64_t{4}, 16384 / input.k),
                [&](int64_t begin, int64_t end) { input.quantize(begin, end); });
  }
  call.thread_ranges(n_rows, thread_grain(input.k, input.n),
                     [&](int thread, int64_t begin, int64_t end) { fn(input, thread, begin, end); });
}

}  // namespace

void multi_linear(const KernelCall& kernel_call) {
  const Call<LinearArgs> call(kernel_call);
  int64_t total = 0;
  for (const LinearPart& part : call.args.parts) total += padded_rows(part);
  deal_rows(call, total, [&](const Input& input, int thread, int64_t begin, int64_t end) {
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    int64_t first = 0;  // of the part, counted over all parts
    for (const LinearPart& part : call.args.parts) {
      const int64_t from = max_of(begin - first, int64_t{0});
      const int64_t to = min_of(end - first, part.weight.rows);
      auto* y = reinterpret_cast<float*>(call.operands[part.output_operand]);
      if (from < to) linear_rows(PartView(part, call.operands), input, from, to, y, scratch);
      first += padded_rows(part);
    }
  });
}

void linear(const KernelCall& call) { multi_linear(call); }

void gated_linear(const KernelCall& kernel_call) {
  const Call<LinearArgs> call(kernel_call);
  const PartView gate(call.args.parts[0], call.operands), up(call.args.parts[1], call.operands);
  const int64_t n_out = gate.part.weight.rows;
  deal_rows(call, n_out, [&](const Input& input, int thread, int64_t begin, int64_t end) {
    static_assert(kGatedTileRows == kPanelRows);
    float products[2][kBlockTokens * kPanelRows];
    const auto activate_block = [&](int64_t row, int64_t n_rows, int64_t t, int64_t n_t) {
      gate.add_bias(row, n_rows, n_t, products[0], kPanelRows);
      up.add_bias(row, n_rows, n_t, products[1], kPanelRows);
      for (int64_t i = 0; i < n_t; ++i) {
        const V16 g = load_part(products[0] + i * kPanelRows, n_rows);
        const V16 u = load_part(products[1] + i * kPanelRows, n_rows);
        store_part(call.output(0) + (t + i) * n_out + row, activate_times(call.args.act, g, u), n_rows);
      }
    };
    if (gate.in_panels() && up.in_panels()) {
      each_panel_block(begin, end, input.n, [&](int64_t row, int64_t n_rows, int64_t t, int64_t n_t) {
        gate.panel(input, row, t, n_t, products[0]);
        up.panel(input, row, t, n_t, products[1]);
        activate_block(row, n_rows, t, n_t);
      });
      return;
    }
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    for (int64_t row = begin; row < end; row += kPanelRows) {
      const int64_t n_rows = min_of(kPanelRows, end - row);
      const PartView* views[2] = {&gate, &up};
      DotTile tiles[2];
      for (int i = 0; i < 2; ++i) {
        float* mine = scratch + i * kPanelRows * scratch_stride(input.k);
        if (!views[i]->in_panels()) tiles[i] = views[i]->load_rows(row, n_rows, mine);
      }
      for (int64_t t = 0; t < input.n; t += kBlockTokens) {
        const int64_t n_t = min_of(kBlockTokens, input.n - t);
        for (int i = 0; i < 2; ++i) {
          if (views[i]->in_panels()) {
            views[i]->panel(input, row, t, n_t, products[i]);
            continue;
          }
          tiles[i].x = input.row(t);
          tiles[i].x_stride = input.k;
          tiles[i].n_x = n_t;
          dot_tile(tiles[i], products[i], kPanelRows);
        }
        activate_block(row, n_rows, t, n_t);
      }
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
