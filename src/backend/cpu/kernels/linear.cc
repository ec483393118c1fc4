// Matrix products with f32 activations. Output rows (weight rows) are dealt to threads in tiles; a tile's
// weights are decoded once into the thread's workspace and used for every activation row. The products of
// linear, multi_linear and gated_linear come from the same dot_tile, so fusing changes no bit.
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/dot_tile.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// Rows decoded at a time: few rows of activations keep the tile in the first cache level, many reuse it.
int64_t tile_rows(int64_t n_x) { return n_x < 8 ? kRowTile : kLinearTileRows; }

/// A part's weight, ready to be decoded.
struct PartView {
  const LinearPart& part;
  PlaneView planes;
  DecodeFn decode;
  const float* bias;

  PartView(const LinearPart& p, std::byte* const* operands)
      : part(p),
        planes{operands[p.weight_operand], &p.weight},
        decode(decoder(p.weight.format)),
        bias(p.bias_operand < 0 ? nullptr : reinterpret_cast<const float*>(operands[p.bias_operand])) {}

  /// Points `tile` at rows [begin, begin + n) in f32: where they lie, or decoded to `scratch`.
  void load_rows(int64_t begin, int64_t n, float* scratch, DotTile* tile) const {
    tile->n = n;
    if (part.weight.format.kind == FormatKind::kF32) {
      tile->w = reinterpret_cast<const float*>(planes.row(0, begin));
      tile->w_stride = part.weight.cols;
      return;
    }
    tile->w = scratch;
    tile->w_stride = scratch_stride(part.weight.cols);
    for (int64_t r = 0; r < n; ++r) {
      decode({planes.row(0, begin + r), planes.row(1, begin + r), planes.row(2, begin + r),
              part.weight.format.group},
             part.weight.cols, scratch + r * tile->w_stride);
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

/// Rows [begin, end) of one part, for all activation rows.
void linear_rows(const Call<LinearArgs>& call, const PartView& view, int64_t begin, int64_t end,
                 float* scratch) {
  const int64_t n_x = call.n_rows();
  const int64_t stride = view.part.weight.rows;
  auto* y = reinterpret_cast<float*>(call.operands[view.part.output_operand]);
  DotTile tile{.x = call.input(0), .x_stride = call.args.k, .n_x = n_x, .k = call.args.k};
  const int64_t step = tile_rows(n_x);
  for (int64_t row = begin; row < end; row += step) {
    view.load_rows(row, min_of(step, end - row), scratch, &tile);
    dot_tile(tile, y + row, stride);
    view.add_bias(row, tile.n, n_x, y + row, stride);
  }
}

/// Grain of work division: a whole number of register tiles, and a share of weights worth a thread.
int64_t thread_grain(int64_t k, int64_t n_x) {
  constexpr int64_t kMinimumWork = 16384;  // multiply-adds
  const int64_t rows = kMinimumWork / max_of(int64_t{1}, k * n_x) + 1;
  return (rows + kRowTile - 1) / kRowTile * kRowTile;
}

}  // namespace

void multi_linear(const KernelCall& kernel_call) {
  const Call<LinearArgs> call(kernel_call);
  const int64_t n_x = call.n_rows();
  if (n_x <= 0) return;
  int64_t total = 0;
  for (const LinearPart& part : call.args.parts) total += part.weight.rows;
  call.thread_ranges(total, thread_grain(call.args.k, n_x), [&](int thread, int64_t begin, int64_t end) {
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    int64_t first = 0;  // of the part, counted over all parts
    for (const LinearPart& part : call.args.parts) {
      const int64_t from = max_of(begin - first, int64_t{0});
      const int64_t to = min_of(end - first, part.weight.rows);
      if (from < to) linear_rows(call, PartView(part, call.operands), from, to, scratch);
      first += part.weight.rows;
    }
  });
}

void linear(const KernelCall& call) { multi_linear(call); }

void gated_linear(const KernelCall& kernel_call) {
  const Call<LinearArgs> call(kernel_call);
  const int64_t n_x = call.n_rows();
  if (n_x <= 0) return;
  const PartView gate(call.args.parts[0], call.operands), up(call.args.parts[1], call.operands);
  const int64_t n_out = gate.part.weight.rows;
  call.thread_ranges(n_out, thread_grain(call.args.k, n_x), [&](int thread, int64_t begin, int64_t end) {
    constexpr int64_t kCols = kGatedTileRows;
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    float* up_scratch = scratch + kCols * scratch_stride(call.args.k);
    float products[2][kTokenTile * kCols];
    DotTile tile{.x_stride = call.args.k, .k = call.args.k};
    for (int64_t row = begin; row < end; row += kCols) {
      DotTile gate_tile = tile, up_tile = tile;
      const int64_t n = min_of(kCols, end - row);
      gate.load_rows(row, n, scratch, &gate_tile);
      up.load_rows(row, n, up_scratch, &up_tile);
      for (int64_t t = 0; t < n_x; t += kTokenTile) {
        const int64_t n_t = min_of(int64_t{kTokenTile}, n_x - t);
        gate_tile.x = up_tile.x = call.input(0) + t * call.args.k;
        gate_tile.n_x = up_tile.n_x = n_t;
        dot_tile(gate_tile, products[0], kCols);
        dot_tile(up_tile, products[1], kCols);
        gate.add_bias(row, n, n_t, products[0], kCols);
        up.add_bias(row, n, n_t, products[1], kCols);
        for (int64_t i = 0; i < n_t; ++i) {
          const V16 g = load_part(products[0] + i * kCols, n), u = load_part(products[1] + i * kCols, n);
          store_part(call.output(0) + (t + i) * n_out + row, activate_times(call.args.act, g, u), n);
        }
      }
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
