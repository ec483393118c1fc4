// Matrix products. Output rows (weight rows) are dealt to threads in tiles. Weights in panels meet quantized
// activations (panel_dot.h); others are decoded a tile at a time into the thread's workspace and meet f32
// activations (dot_tile.h). Each weight has one arithmetic, the same in linear, multi_linear and
// gated_linear, so fusing changes no bit.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/linear_part.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kQuantizeGrain = 2048;  // numbers below which a second thread does not pay
constexpr int64_t kPassTokens =
    4 * kBlockTokens;  // activation rows that stay in cache during a pass of panels

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
    DotTile tile = view.load_rows(row, min_of(step, end - row), input.n, scratch);
    tile.x = input.x;
    tile.x_stride = input.k;
    tile.n_x = input.n;
    dot_tile(tile, y + row, stride);
    view.add_bias(row, tile.n, input.n, y + row, stride);
  }
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
    call.ranges(input.n, max_of(int64_t{1}, kQuantizeGrain / input.k),
                [&](int64_t begin, int64_t end) { input.quantize(begin, end); });
  }
  call.thread_ranges(n_rows, thread_grain(input.k, input.n),
                     [&](int thread, int64_t begin, int64_t end) { fn(input, thread, begin, end); });
}

constexpr int64_t kFewTokens = 8;
/// Panels of one weight in a row. Two threads decoding 1.2 B weights of 4 bits on Zen 4 read, of what the
/// memory gives: 1 panel 72 to 81 %, 4 82 to 86 %, 8 88 to 91 %, 32 93 to 97 %.
constexpr int64_t kRunPanels = 32;

/// Rows [begin, end) of two weights in panels for few activation rows: several panels of one, then of the
/// other, since memory gives one long run faster than two short ones in turn.
template <typename Fn>
void gated_runs(const PartView& gate, const PartView& up, const Input& input, int64_t begin, int64_t end,
                const Fn& activate) {
  float products[2][kRunPanels][kFewTokens * kPanelRows];
  for (int64_t run = begin; run < end; run += kRunPanels * kPanelRows) {
    const int64_t run_end = min_of(run + kRunPanels * kPanelRows, end);
    const PartView* views[2] = {&gate, &up};
    for (int side = 0; side < 2; ++side) {
      for (int64_t row = run; row < run_end; row += kPanelRows)
        views[side]->panel(input, row, 0, input.n, products[side][(row - run) / kPanelRows]);
    }
    for (int64_t row = run; row < run_end; row += kPanelRows) {
      const int64_t i = (row - run) / kPanelRows;
      activate(row, min_of(kPanelRows, end - row), 0, input.n, products[0][i], products[1][i]);
    }
  }
}

}  // namespace

void head_linear(const KernelCall& kernel_call) {
  const Call<HeadLinearArgs> call(kernel_call);
  const PartView view(call.args.part, call.operands);
  const int64_t n_x = call.n_rows(), rows = view.part.weight.rows, cols = view.part.weight.cols;
  const int64_t head_rows = rows / call.args.n_heads;
  call.thread_ranges(rows, thread_grain(cols, n_x), [&](int thread, int64_t begin, int64_t end) {
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    for (int64_t row = begin; row < end;) {
      const int64_t left = min_of(end - row, head_rows - row % head_rows);  // a tile stays within a head
      DotTile tile = view.load_rows(row, min_of(decoded_rows(n_x), left), n_x, scratch);
      tile.x = call.input(0) + row / head_rows * cols;
      tile.x_stride = cols * call.args.n_heads;
      tile.n_x = n_x;
      dot_tile(tile, call.output(0) + row, rows);
      row += tile.n;
    }
  });
}

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
    const auto activate = [&](int64_t row, int64_t n_rows, int64_t t, int64_t n_t, float* g, float* u) {
      gate.add_bias(row, n_rows, n_t, g, kPanelRows);
      up.add_bias(row, n_rows, n_t, u, kPanelRows);
      for (int64_t i = 0; i < n_t; ++i) {
        const V16 y = activate_times(call.args.act, load_part(g + i * kPanelRows, n_rows),
                                     load_part(u + i * kPanelRows, n_rows));
        store_part(call.output(0) + (t + i) * n_out + row, y, n_rows);
      }
    };
    if (gate.in_panels() && up.in_panels()) {
      if (input.n <= kFewTokens) return gated_runs(gate, up, input, begin, end, activate);
      each_panel_block(begin, end, input.n, [&](int64_t row, int64_t n_rows, int64_t t, int64_t n_t) {
        gate.panel(input, row, t, n_t, products[0]);
        up.panel(input, row, t, n_t, products[1]);
        activate(row, n_rows, t, n_t, products[0], products[1]);
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
        if (!views[i]->in_panels()) tiles[i] = views[i]->load_rows(row, n_rows, input.n, mine);
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
        activate(row, n_rows, t, n_t, products[0], products[1]);
      }
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
