// Ssm1: the selective scan of 16 channels, token after token (formula: ir/op.h).
#include <cmath>

#include "backend/ref/scan.h"

namespace skua::ref {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// One block. State: [d_state, kSsm1Channels]. Kept row: x [d_inner], dt [d_inner], B [d_state].
struct Block {
  const Call& call;
  int64_t d_inner, d_state, first, n;             // n channels from `first` on
  const std::vector<std::vector<double>>& rates;  // [d_state][d_inner]: -exp(a_log)
  const std::vector<double>&dt_bias, &skip;

  void keep(int64_t t, double* row) const {
    std::copy_n(call.input(0).row(t) + first, n, row + first);
    std::copy_n(call.input(1).row(t) + first, n, row + d_inner + first);
    if (first == 0) std::copy_n(call.input(2).row(t), d_state, row + 2 * d_inner);
  }

  void advance(double* state, const double* x, const double* dt_in, const double* b) const {
    for (int64_t c = 0; c < n; ++c) {
      const double dt = softplus(dt_in[first + c] + dt_bias[static_cast<size_t>(first + c)]);
      for (int64_t i = 0; i < d_state; ++i) {
        double& h = state[i * kSsm1Channels + c];
        const double decay = std::exp(dt * rates[static_cast<size_t>(i)][static_cast<size_t>(first + c)]);
        h = round_to(call.args.slot.storage, decay * h + dt * b[i] * x[first + c]);
      }
    }
  }

  void replay(double* state, const double* row) const {
    advance(state, row, row + d_inner, row + 2 * d_inner);
  }

  void step(double* state, int64_t t) const {
    const double* x = call.input(0).row(t);
    advance(state, x, call.input(1).row(t), call.input(2).row(t));
    for (int64_t c = 0; c < n; ++c) {
      double sum = skip[static_cast<size_t>(first + c)] * x[first + c];
      for (int64_t i = 0; i < d_state; ++i) sum += call.input(3).row(t)[i] * state[i * kSsm1Channels + c];
      call.output(0).store(t, first + c, sum);
    }
  }
};

}  // namespace

void ssm1(const Call& call) {
  const std::vector<double> dt_bias = call.weight_row(1, 0), skip = call.weight_row(2, 0);
  const int64_t d_inner = call.input(0).width, d_state = call.input(2).width;
  std::vector<std::vector<double>> rates;
  for (int64_t i = 0; i < d_state; ++i) {
    for (double& r : rates.emplace_back(call.weight_row(0, i))) r = -std::exp(r);
  }
  scan_all(call, [&](int64_t block) {
    const int64_t first = block * kSsm1Channels;
    const int64_t n = std::min<int64_t>(kSsm1Channels, d_inner - first);
    return Block{call, d_inner, d_state, first, n, rates, dt_bias, skip};
  });
}

}  // namespace skua::ref
