// Mamba-1's selective scan: every channel has a decay of its own for each of its d_state numbers. Per token
// h_n = fma(B[n], dt x, exp(dt A_n) h_n), then y = one ascending chain of fma(C[n], h_n), then fma(D, x).
// Lanes are the 16 channels of a block; its state is [d_state] rows of them.
#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/scan.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kAhead = 4;  // tokens: rows of wide models lie further apart than a prefetcher looks

/// One block of channels of one sequence. `rates` [d_state][16] is -exp(a_log).
struct Block {
  const Ssm1Args& args;
  const float* x;
  const float* dt;
  const float* b;
  const float* c;
  float* y;
  const float* rates;
  int64_t first;  // channel
  int64_t lanes;  // channels of this block
  V16 dt_bias, skip;

  /// Of a kept row: x, dt of all channels, B.
  int64_t kept_b() const { return 2 * args.d_inner; }

  void keep(int64_t t, float* row) const {
    store_part(row + first, load_part(x + t * args.d_inner + first, lanes), lanes);
    store_part(row + args.d_inner + first, load_part(dt + t * args.d_inner + first, lanes), lanes);
    if (first == 0)
      __builtin_memcpy(row + kept_b(), b + t * args.d_state,
                       static_cast<size_t>(args.d_state) * sizeof(float));
  }

  /// Adds one token; `c_row` and `out` are null when nothing is read.
  void add(float* state, const float* x_in, const float* dt_in, const float* b_row, const float* c_row,
           float* out) const {
    const V16 input = load_part(x_in, lanes);
    const V16 step = softplus(load_part(dt_in, lanes) + dt_bias);
    const V16 dx = step * input;
    V16 sum = zero();
    for (int64_t n = 0; n < args.d_state; ++n) {
      float* at = state + n * 16;
      const V16 s = fma(splat(b_row[n]), dx, exp(step * load(rates + n * 16)) * load(at));
      store(at, s);
      if (c_row != nullptr) sum = fma(splat(c_row[n]), s, sum);
    }
    if (c_row != nullptr) store_part(out, fma(skip, input, sum), lanes);
  }

  void replay(float* state, const float* rows, int64_t n) const {
    for (int64_t i = 0; i < n; ++i, rows += args.slot.row)
      add(state, rows + first, rows + args.d_inner + first, rows + kept_b(), nullptr, nullptr);
  }

  void run(float* state, int64_t t, int64_t n) const {
    for (int64_t i = t; i < t + n; ++i) {
      const int64_t at = i * args.d_inner + first, ahead = at + kAhead * args.d_inner;
      for (const float* row : {x, dt, static_cast<const float*>(y)}) __builtin_prefetch(row + ahead);
      add(state, x + at, dt + at, b + i * args.d_state, c + i * args.d_state, y + at);
    }
  }
};

/// rates[n][lane] = -exp(a_log[n, first + lane]); what stands in lanes past the last channel cannot show.
void decode_rates(const Call<Ssm1Args>& call, int64_t first, int64_t lanes, float* rates) {
  const PlaneView weight{call.weight(0), &call.args.a_log};
  const DecodeFn decode = decoder(weight.layout->format);
  for (int64_t n = 0; n < call.args.d_state; ++n, rates += 16) {
    store(rates, zero());
    decode({weight.row(0, n) + first * call.args.rate_bytes, nullptr, nullptr, 0}, lanes, rates);
    store(rates, zero() - exp(load(rates)));
  }
}

}  // namespace

void ssm1(const KernelCall& kernel_call) {
  const Call<Ssm1Args> call(kernel_call);
  const Ssm1Args& args = call.args;
  const auto* dt_bias = reinterpret_cast<const float*>(call.weight(1));
  const auto* skip = reinterpret_cast<const float*>(call.weight(2));
  scan_all(call, [&](int thread, int64_t block) {
    const int64_t first = block * 16, lanes = min_of(args.d_inner - first, int64_t{16});
    float* rates = reinterpret_cast<float*>(call.workspace(thread)) + args.slot.state;
    decode_rates(call, first, lanes, rates);
    return Block{args,
                 call.input(0),
                 call.input(1),
                 call.input(2),
                 call.input(3),
                 call.output(0),
                 rates,
                 first,
                 lanes,
                 load_part(dt_bias + first, lanes),
                 load_part(skip + first, lanes)};
  });
}

}  // namespace skua::cpu::SKUA_ISA
