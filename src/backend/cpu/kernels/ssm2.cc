// State-space scan with one decay per head. Per token S = fma(B[n], dt x[p], decay S[n,p]), then y[p] as four
// chains over n (n mod 4) of fma(C[n], S[n,p]), added pairwise, then fma(d, x[p]). Lanes run over p: a head's
// state lies in tiles of 16 values of p, [state_dim] rows each, so that a tile stays in the nearest cache
// while the tokens of a page pass.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/scan.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// One head of one sequence.
struct Head {
  const Ssm2Args& args;
  const float* xbc;
  const float* dt_in;
  float* y;
  int64_t head;
  float decay, skip, dt_bias;  // decay: -exp(a_log)

  int64_t group() const { return head / (args.n_heads / args.n_groups); }
  int64_t x_begin() const { return head * args.head_dim; }
  int64_t b_begin() const { return args.d_inner() + group() * args.state_dim; }
  int64_t c_begin() const { return b_begin() + args.n_groups * args.state_dim; }
  /// Of a kept row: x of all heads, B of all groups, dt.
  int64_t kept_dt() const { return args.d_inner() + args.n_groups * args.state_dim + head; }

  void keep(int64_t t, float* row) const {
    const float* from = xbc + t * args.xbc_width();
    const auto bytes = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
    __builtin_memcpy(row + x_begin(), from + x_begin(), bytes(args.head_dim));
    if (head % (args.n_heads / args.n_groups) == 0)
      __builtin_memcpy(row + b_begin(), from + b_begin(), bytes(args.state_dim));
    row[kept_dt()] = dt_in[t * args.n_heads + head];
  }

  /// Step sizes and decays of n tokens whose inputs lie `stride` apart.
  void steps(const float* in, int64_t stride, int64_t n, float* dt, float* factor) const {
    float lanes[16];
    for (int64_t i = 0; i < n; i += 16) {
      const int64_t count = min_of(n - i, int64_t{16});
      for (int64_t j = 0; j < 16; ++j) lanes[j] = j < count ? in[(i + j) * stride] : 0.0f;
      V16 v = softplus(load(lanes) + splat(dt_bias));
      v = min(max(v, splat(args.dt_min)), splat(args.dt_max));
      store(dt + i, v);
      store(factor + i, exp(v * splat(decay)));
    }
  }

  /// Adds one token to a tile of `lanes` values of p; `c` and `out` are null when nothing is read.
  void add(float* tile, int64_t lanes, const float* x, const float* b, const float* c, float dt, float factor,
           float* out) const {
    const V16 input = load_part(x, lanes);
    const V16 dx = input * splat(dt), f = splat(factor);
    V16 sum[4] = {zero(), zero(), zero(), zero()};
    const auto one = [&](int64_t n, V16& chain) {
      const V16 s = fma(splat(b[n]), dx, load_part(tile + n * lanes, lanes) * f);
      store_part(tile + n * lanes, s, lanes);
      if (c != nullptr) chain = fma(splat(c[n]), s, chain);
    };
    const auto one_whole = [&](int64_t n, V16& chain) {
      const V16 s = fma(splat(b[n]), dx, load(tile + n * 16) * f);
      store(tile + n * 16, s);
      if (c != nullptr) chain = fma(splat(c[n]), s, chain);
    };
    int64_t n = 0;
    if (lanes == 16) {
      for (; n + 4 <= args.state_dim; n += 4) {
        for (int j = 0; j < 4; ++j) one_whole(n + j, sum[j]);
      }
    }
    for (; n < args.state_dim; ++n) one(n, sum[n % 4]);
    if (c == nullptr) return;
    const V16 total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    store_part(out, fma(splat(skip), input, total), lanes);
  }

  void replay(float* state, const float* rows, int64_t n) const {
    const int64_t stride = args.slot.row;
    float dt[kPageTokens], factor[kPageTokens];
    steps(rows + kept_dt(), stride, n, dt, factor);
    for (int64_t p = 0; p < args.head_dim; p += 16) {
      const int64_t lanes = min_of(args.head_dim - p, int64_t{16});
      for (int64_t i = 0; i < n; ++i) {
        const float* row = rows + i * stride;
        add(state + p * args.state_dim, lanes, row + x_begin() + p, row + b_begin(), nullptr, dt[i],
            factor[i], nullptr);
      }
    }
  }

  void run(float* state, int64_t t, int64_t n) const {
    float dt[kPageTokens], factor[kPageTokens];
    steps(dt_in + t * args.n_heads + head, args.n_heads, n, dt, factor);
    for (int64_t p = 0; p < args.head_dim; p += 16) {
      const int64_t lanes = min_of(args.head_dim - p, int64_t{16});
      for (int64_t i = 0; i < n; ++i) {
        const float* row = xbc + (t + i) * args.xbc_width();
        add(state + p * args.state_dim, lanes, row + x_begin() + p, row + b_begin(), row + c_begin(), dt[i],
            factor[i], y + (t + i) * args.d_inner() + x_begin() + p);
      }
    }
  }
};

}  // namespace

void ssm2(const KernelCall& kernel_call) {
  const Call<Ssm2Args> call(kernel_call);
  const auto* a_log = reinterpret_cast<const float*>(call.weight(0));
  const auto* skip = reinterpret_cast<const float*>(call.weight(1));
  const auto* dt_bias = reinterpret_cast<const float*>(call.weight(2));
  scan_all(call, [&](int, int64_t head) {
    float lanes[16];
    store(lanes, exp(splat(a_log[head])));
    return Head{call.args, call.input(0), call.input(1), call.output(0),
                head,      -lanes[0],     skip[head],    dt_bias[head]};
  });
}

}  // namespace skua::cpu::SKUA_ISA
