// Gated delta rule. Per token and value head: S = fma(k, delta, decay S), delta = (v - decay (S k)) beta,
// y = S q; k and q of length one. Both products are four chains over k_dim (i mod 4), added pairwise. Lanes
// run over v_dim: a head's state lies in tiles of 16 columns (the last may be narrower), [k_dim] rows each,
// so that a tile stays in the nearest cache while the tokens of a page pass.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/rows.h"
#include "backend/cpu/kernels/scan.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// One operand of consecutive tokens: row t lies t strides further.
struct Strided {
  const float* first = nullptr;
  int64_t stride = 0;
  const float* at(int64_t t) const { return first + t * stride; }
};

/// y = x / sqrt(sum x^2 + eps) * scale.
void unit_row(const float* x, int64_t n, float eps, float scale, float* y) {
  const float square = row_sum(x, n, [](V16 sum, V16 v) { return fma(v, v, sum); });
  const V16 factor = splat(scale / __builtin_sqrtf(square + eps));
  each_vector(0, n, [&](auto get, auto put) { put(y, get(x) * factor); });
}

/// Four chains to one value.
V16 total(const V16* chain) { return (chain[0] + chain[1]) + (chain[2] + chain[3]); }

/// One head of one sequence. `scratch` [delta_scratch(k_dim)] is this thread's.
struct Head {
  const DeltaArgs& args;
  const float* q;
  const float* k;
  const float* v;
  const float* a;
  const float* b;
  float* y;
  float* scratch;
  int64_t head;
  float rate, dt_bias;  // rate: -exp(a_log)

  int64_t k_begin() const { return args.key_head(head) * args.k_dim; }
  int64_t v_begin() const { return head * args.v_dim; }
  /// Of a kept row: k of all key heads, v of all value heads, a, b.
  int64_t kept_v() const { return args.k_width() + v_begin(); }
  int64_t kept_a() const { return args.k_width() + args.v_width() + head; }
  int64_t kept_b() const { return kept_a() + args.n_v_heads; }

  float* keys() const { return scratch; }
  float* queries() const { return keys() + kPageTokens * args.k_dim; }
  float* decays() const { return queries() + kPageTokens * args.k_dim; }
  float* betas() const { return decays() + kPageTokens; }

  void keep(int64_t t, float* row) const {
    const auto bytes = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
    if (args.is_first_of_key(head))
      __builtin_memcpy(row + k_begin(), k + t * args.k_width() + k_begin(), bytes(args.k_dim));
    __builtin_memcpy(row + kept_v(), v + t * args.v_width() + v_begin(), bytes(args.v_dim));
    row[kept_a()] = a[t * args.n_v_heads + head];
    row[kept_b()] = b[t * args.n_v_heads + head];
  }

  /// Unit keys, decays and strengths of n tokens.
  void prepare(const Strided& key, const Strided& a_in, const Strided& b_in, int64_t n) const {
    float* decay = decays();
    float* beta = betas();
    for (int64_t t = 0; t < n; ++t) {
      unit_row(key.at(t), args.k_dim, args.norm_eps, 1.0f, keys() + t * args.k_dim);
      decay[t] = *a_in.at(t) + dt_bias;
      beta[t] = *b_in.at(t);
    }
    each_vector(0, n, [&](auto get, auto put) {
      put(decay, exp(splat(rate) * softplus(get(decay))));
      put(beta, sigmoid(get(beta)));
    });
  }

  /// Adds token t to kTiles whole tiles; with kLanes < 16, to one narrow tile. `out` is null when nothing is
  /// read.
  template <int kTiles, bool kWhole>
  void add(float* tile, int64_t lanes, int64_t t, const float* value, float* out) const {
    const int64_t n = args.k_dim, tile_floats = n * 16;
    const auto get = [&](const float* p) { return kWhole ? load(p) : load_part(p, lanes); };
    const auto put = [&](float* p, V16 x) { kWhole ? store(p, x) : store_part(p, x, lanes); };
    const int64_t row = kWhole ? 16 : lanes;
    const float* key = keys() + t * n;
    const V16 decay = splat(decays()[t]), beta = splat(betas()[t]);
    V16 chain[kTiles][4], delta[kTiles];
    const auto clear = [&] {
      for (int w = 0; w < kTiles; ++w) {
        for (int j = 0; j < 4; ++j) chain[w][j] = zero();
      }
    };
    const auto each_row = [&](const auto& fn) {
      int64_t i = 0;
      for (; i + 4 <= n; i += 4) {
        for (int j = 0; j < 4; ++j) fn(i + j, j);
      }
      for (int j = 0; i < n; ++i, ++j) fn(i, j);
    };
    clear();
    each_row([&](int64_t i, int j) {
      const V16 k_i = splat(key[i]);
      for (int w = 0; w < kTiles; ++w)
        chain[w][j] = fma(k_i, get(tile + w * tile_floats + i * row), chain[w][j]);
    });
    for (int w = 0; w < kTiles; ++w) delta[w] = (get(value + w * 16) - total(chain[w]) * decay) * beta;
    clear();
    const float* query = out == nullptr ? key : queries() + t * n;
    each_row([&](int64_t i, int j) {
      const V16 k_i = splat(key[i]), q_i = splat(query[i]);
      for (int w = 0; w < kTiles; ++w) {
        float* at = tile + w * tile_floats + i * row;
        const V16 s = fma(k_i, delta[w], decay * get(at));
        put(at, s);
        chain[w][j] = fma(q_i, s, chain[w][j]);
      }
    });
    if (out == nullptr) return;
    for (int w = 0; w < kTiles; ++w) put(out + w * 16, total(chain[w]));
  }

  /// All tiles over n prepared tokens. `out` is null at replay.
  void all_tiles(float* state, const Strided& value, int64_t n, float* out) const {
    constexpr int kTiles = kWide ? 2 : 1;
    const auto out_at = [&](int64_t t, int64_t p) {
      return out == nullptr ? nullptr : out + t * args.v_width() + p;
    };
    int64_t p = 0;
    for (; p + 16 * kTiles <= args.v_dim; p += 16 * kTiles) {
      for (int64_t t = 0; t < n; ++t)
        add<kTiles, true>(state + p * args.k_dim, 16, t, value.at(t) + p, out_at(t, p));
    }
    for (; p < args.v_dim; p += 16) {
      const int64_t lanes = min_of(args.v_dim - p, int64_t{16});
      for (int64_t t = 0; t < n; ++t) {
        float* tile = state + p * args.k_dim;
        if (lanes == 16)
          add<1, true>(tile, lanes, t, value.at(t) + p, out_at(t, p));
        else
          add<1, false>(tile, lanes, t, value.at(t) + p, out_at(t, p));
      }
    }
  }

  void replay(float* state, const float* rows, int64_t n) const {
    const int64_t stride = args.slot.row;
    prepare({rows + k_begin(), stride}, {rows + kept_a(), stride}, {rows + kept_b(), stride}, n);
    all_tiles(state, {rows + kept_v(), stride}, n, nullptr);
  }

  void run(float* state, int64_t t, int64_t n) const {
    const int64_t n_v = args.n_v_heads;
    prepare({k + t * args.k_width() + k_begin(), args.k_width()}, {a + t * n_v + head, n_v},
            {b + t * n_v + head, n_v}, n);
    const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(args.k_dim));
    for (int64_t i = 0; i < n; ++i) {
      unit_row(q + (t + i) * args.k_width() + k_begin(), args.k_dim, args.norm_eps, scale,
               queries() + i * args.k_dim);
    }
    const int64_t at = t * args.v_width() + v_begin();
    all_tiles(state, {v + at, args.v_width()}, n, y + at);
  }
};

}  // namespace

void gated_delta(const KernelCall& kernel_call) {
  const Call<DeltaArgs> call(kernel_call);
  const auto* a_log = reinterpret_cast<const float*>(call.weight(0));
  const auto* dt_bias = reinterpret_cast<const float*>(call.weight(1));
  scan_all(call, [&](int thread, int64_t head) {
    float lanes[16];
    store(lanes, exp(splat(a_log[head])));
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread)) + call.args.slot.state;
    return Head{call.args,      call.input(0), call.input(1), call.input(2), call.input(3), call.input(4),
                call.output(0), scratch,       head,          -lanes[0],     dt_bias[head]};
  });
}

}  // namespace skua::cpu::SKUA_ISA
