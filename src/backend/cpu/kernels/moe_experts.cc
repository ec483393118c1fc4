// Experts: (token, expert) pairs are listed by expert; threads share the rows of every chosen expert's
// matrices, first of gate and up, then of down. A token's results are added in ascending expert order,
// whatever the batch. Weights of experts that no token chose are not touched; weights are decoded, or met in
// panels, as in linear.cc.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/linear_part.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// The pairs of one step, sorted by expert, tokens ascending within.
struct Pairs {
  int32_t* begin;  // [n + 1]
  int32_t* token;
  float* weight;
  int64_t n;  // experts, the identity ones included

  int64_t size() const { return begin[n]; }

  /// At most `top_k` pairs per token.
  void list(const float* routing, int64_t n_tokens, int64_t top_k) const {
    const auto each = [&](auto&& fn) {
      for (int64_t t = 0; t < n_tokens; ++t) {
        int64_t found = 0;
        for (int64_t e = 0; e < n && found < top_k; ++e) {
          const float w = routing[t * n + e];
          if (w == 0.0f) continue;
          ++found;
          fn(t, e, w);
        }
      }
    };
    for (int64_t e = 0; e <= n; ++e) begin[e] = 0;
    each([&](int64_t, int64_t e, float) { ++begin[e + 1]; });
    for (int64_t e = 0; e < n; ++e) begin[e + 1] += begin[e];
    each([&](int64_t t, int64_t e, float w) {
      const int32_t at = begin[e]++;
      token[at] = static_cast<int32_t>(t);
      weight[at] = w;
    });
    for (int64_t e = n; e > 0; --e) begin[e] = begin[e - 1];  // filling moved every border to the next
    begin[0] = 0;
  }
};

/// min(g, limit) * sigmoid(1.702 g) * (clamp(u) + 1).
V16 clamped_swiglu(V16 g, V16 u, float limit) {
  g = min(splat(limit), g);
  u = max(splat(-limit), min(splat(limit), u));
  return g * sigmoid(g * splat(1.702f)) * (u + splat(1.0f));
}

struct Kernel {
  const Call<ExpertsArgs>& call;
  const ExpertsArgs& args;
  ExpertPlaces places;
  Pairs pairs;
  float* hidden;  // [pairs, d_ff]
  PartView gate, up, down;

  explicit Kernel(const Call<ExpertsArgs>& c)
      : call(c),
        args(c.args),
        places(c.args),
        pairs{at<int32_t>(places.begin), at<int32_t>(places.token), at<float>(places.weight),
              int64_t{c.args.op.n_experts} + c.args.op.n_identity},
        hidden(at<float>(places.hidden)),
        gate(c.args.gate, c.operands),
        up(c.args.up, c.operands),
        down(c.args.down, c.operands) {}

  template <typename T>
  T* at(uint64_t offset) const {
    return reinterpret_cast<T*>(call.operands[args.workspace] + offset);
  }

  /// The tokens of one expert, and their hidden rows: activations of its matrices.
  Input tokens_of(int64_t e) const {
    const int64_t first = pairs.begin[e], k = args.d_model;
    return {.x = call.input(0),
            .n = pairs.begin[e + 1] - first,
            .k = k,
            .quantized = at<std::byte>(places.quantized_x) + first * quantized_row_bytes(k),
            .index = pairs.token + first};
  }
  Input hidden_of(int64_t e) const {
    const int64_t first = pairs.begin[e], k = args.d_ff;
    return {.x = hidden + first * k,
            .n = pairs.begin[e + 1] - first,
            .k = k,
            .quantized = at<std::byte>(places.quantized_hidden) + first * quantized_row_bytes(k)};
  }

  /// Quantizes the activations of every expert; `input_of(e)` names them.
  template <typename Fn>
  void quantize(int64_t k, const Fn& input_of) const {
    call.ranges(pairs.begin[args.op.n_experts], max_of(int64_t{4}, 16384 / k),
                [&](int64_t begin, int64_t end) {
                  for (int64_t e = 0; e < args.op.n_experts; ++e) {
                    const int64_t first = max_of(begin, int64_t{pairs.begin[e]});
                    const int64_t last = min_of(end, int64_t{pairs.begin[e + 1]});
                    if (first < last) input_of(e).quantize(first - pairs.begin[e], last - pairs.begin[e]);
                  }
                });
  }

  /// Products of weight rows from `row` on with activation rows [p, p + n_p): out[i * kPanelRows + r]. `rows`
  /// says how many count, and holds them if they are decoded.
  static void products(const PartView& view, const Input& input, const DotTile& rows, int64_t row, int64_t p,
                       int64_t n_p, float* out) {
    if (view.in_panels()) {
      view.rows_in_panels(input, row, rows.n, p, n_p, out);
      return;
    }
    DotTile tile = rows;
    tile.x = input.index == nullptr ? input.row(p) : input.x;
    tile.x_rows = input.index == nullptr ? nullptr : input.index + p;
    tile.x_stride = input.k;
    tile.n_x = n_p;
    dot_tile(tile, out, kPanelRows);
  }

  static void scale_products(const float* weight, int64_t n_p, float* out) {
    for (int64_t i = 0; i < n_p; ++i) {
      store(out + i * kPanelRows, load(out + i * kPanelRows) * splat(weight[i]));
    }
  }

  /// Rows [begin, end) of every chosen expert's hidden layer.
  void hidden_rows(float* scratch, int64_t begin, int64_t end) const {
    float out[2][kBlockTokens * kPanelRows] = {};
    for (int64_t e = 0; e < args.op.n_experts; ++e) {
      const Input x = tokens_of(e);
      const float* weight = pairs.weight + pairs.begin[e];
      float* to = hidden + pairs.begin[e] * args.d_ff;
      for (int64_t i = begin; i < end && x.n > 0; i += kPanelRows) {
        const int64_t n = min_of(kPanelRows, end - i), row = e * args.d_ff + i;
        DotTile tiles[2] = {{.n = n}, {.n = n}};
        if (!gate.in_panels()) tiles[0] = gate.load_rows(row, n, x.n, scratch);
        if (!up.in_panels()) tiles[1] = up.load_rows(row, n, x.n, scratch + kPanelRows * scratch_stride(x.k));
        for (int64_t p = 0; p < x.n; p += kBlockTokens) {
          const int64_t n_p = min_of(kBlockTokens, x.n - p);
          products(gate, x, tiles[0], row, p, n_p, out[0]);
          products(up, x, tiles[1], row, p, n_p, out[1]);
          if (args.op.weigh == MoeExperts::Weigh::kInput) {
            for (auto& product : out) scale_products(weight + p, n_p, product);
          }
          gate.add_bias(row, n, n_p, out[0], kPanelRows);
          up.add_bias(row, n, n_p, out[1], kPanelRows);
          for (int64_t j = 0; j < n_p; ++j) {
            const V16 g = load_part(out[0] + j * kPanelRows, n), u = load_part(out[1] + j * kPanelRows, n);
            const V16 y = args.op.swiglu_limit == 0.0f ? activate_times(args.op.act, g, u)
                                                       : clamped_swiglu(g, u, args.op.swiglu_limit);
            store_part(to + (p + j) * args.d_ff + i, y, n);
          }
        }
      }
    }
  }

  /// y[t, i..i + n) += routing * part for tokens [p, p + n_p) of expert e; an identity expert's part is x.
  void add_parts(int64_t e, int64_t i, int64_t n, int64_t p, int64_t n_p, const float* parts) const {
    const bool identity = e >= args.op.n_experts;
    const bool weighed = !identity && args.op.weigh == MoeExperts::Weigh::kInput;
    for (int64_t j = 0; j < n_p; ++j) {
      const int64_t pair = pairs.begin[e] + p + j, at = pairs.token[pair] * args.d_model + i;
      const V16 part = load_part(identity ? call.input(0) + at : parts + j * kPanelRows, n);
      const V16 w = splat(weighed ? 1.0f : pairs.weight[pair]);
      store_part(call.output(0) + at, fma(w, part, load_part(call.output(0) + at, n)), n);
    }
  }

  /// Channels [begin, end) of the output of every token.
  void output_rows(float* scratch, int64_t begin, int64_t end) const {
    const int64_t d = args.d_model;
    for (int64_t t = 0; t < call.n_rows(); ++t) {
      for (int64_t i = begin; i < end; ++i) call.output(0)[t * d + i] = 0.0f;
    }
    float out[kBlockTokens * kPanelRows] = {};
    for (int64_t e = 0; e < pairs.n; ++e) {
      const Input h = hidden_of(e);
      const bool identity = e >= args.op.n_experts;
      for (int64_t i = begin; i < end && h.n > 0; i += kPanelRows) {
        const int64_t n = min_of(kPanelRows, end - i), row = e * d + i;
        DotTile tile{.n = n};
        if (!identity && !down.in_panels()) tile = down.load_rows(row, n, h.n, scratch);
        for (int64_t p = 0; p < h.n; p += kBlockTokens) {
          const int64_t n_p = min_of(kBlockTokens, h.n - p);
          if (!identity) {
            products(down, h, tile, row, p, n_p, out);
            down.add_bias(row, n, n_p, out, kPanelRows);
          }
          add_parts(e, i, n, p, n_p, out);
        }
      }
    }
  }

  void run() const {
    pairs.list(call.input(1), call.n_rows(), args.op.top_k);
    const int64_t n_pairs = max_of(int64_t{1}, int64_t{pairs.begin[args.op.n_experts]});
    if (gate.in_panels() || up.in_panels()) quantize(args.d_model, [&](int64_t e) { return tokens_of(e); });
    call.thread_ranges(args.d_ff, thread_grain(args.d_model, n_pairs),
                       [&](int thread, int64_t begin, int64_t end) {
                         hidden_rows(reinterpret_cast<float*>(call.workspace(thread)), begin, end);
                       });
    if (down.in_panels()) quantize(args.d_ff, [&](int64_t e) { return hidden_of(e); });
    call.thread_ranges(args.d_model, thread_grain(args.d_ff, n_pairs),
                       [&](int thread, int64_t begin, int64_t end) {
                         output_rows(reinterpret_cast<float*>(call.workspace(thread)), begin, end);
                       });
  }
};

}  // namespace

void moe_experts(const KernelCall& kernel_call) {
  const Call<ExpertsArgs> call(kernel_call);
  if (call.n_rows() > 0) Kernel(call).run();
}

}  // namespace skua::cpu::SKUA_ISA
