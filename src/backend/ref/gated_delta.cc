// GatedDelta: the gated delta rule of one value head, token after token (formula: ir/op.h).
#include <cmath>

#include "backend/ref/scan.h"

namespace skua::ref {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// x / sqrt(sum x^2 + eps).
std::vector<double> unit(const double* x, int64_t n, double eps) {
  const double root = std::sqrt(dot(x, x, n) + eps);
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(x[i] / root);
  return out;
}

/// One head. State: [k_dim, v_dim]. Kept row: k [n_k_heads, k_dim], v [n_v_heads, v_dim], a, b [n_v_heads].
struct Head {
  const Call& call;
  const GatedDelta& op;
  int64_t head;
  double rate, dt_bias;  // rate: -exp(a_log)

  int64_t k_width() const { return int64_t{op.n_k_heads} * op.k_dim; }
  int64_t k_begin() const { return op.key_head(head) * op.k_dim; }
  int64_t v_begin() const { return head * op.v_dim; }
  int64_t a_begin() const { return k_width() + int64_t{op.n_v_heads} * op.v_dim; }

  void keep(int64_t t, double* row) const {
    if (op.is_first_of_key(head)) std::copy_n(call.input(1).row(t) + k_begin(), op.k_dim, row + k_begin());
    std::copy_n(call.input(2).row(t) + v_begin(), op.v_dim, row + k_width() + v_begin());
    row[a_begin() + head] = call.input(3).row(t)[head];
    row[a_begin() + op.n_v_heads + head] = call.input(4).row(t)[head];
  }

  void advance(double* state, const double* k_in, const double* v, double a, double b) const {
    const std::vector<double> k = unit(k_in, op.k_dim, double{op.norm_eps});
    const double decay = std::exp(rate * softplus(a + dt_bias)), beta = 1.0 / (1.0 + std::exp(-b));
    for (int64_t p = 0; p < op.v_dim; ++p) {
      double known = 0.0;
      for (int64_t i = 0; i < op.k_dim; ++i) known += k[static_cast<size_t>(i)] * state[i * op.v_dim + p];
      const double delta = beta * (v[p] - decay * known);
      for (int64_t i = 0; i < op.k_dim; ++i) {
        double& s = state[i * op.v_dim + p];
        s = round_to(call.args.slot.storage, decay * s + k[static_cast<size_t>(i)] * delta);
      }
    }
  }

  void replay(double* state, const double* row) const {
    advance(state, row + k_begin(), row + k_width() + v_begin(), row[a_begin() + head],
            row[a_begin() + op.n_v_heads + head]);
  }

  void step(double* state, int64_t t) const {
    advance(state, call.input(1).row(t) + k_begin(), call.input(2).row(t) + v_begin(),
            call.input(3).row(t)[head], call.input(4).row(t)[head]);
    const std::vector<double> q = unit(call.input(0).row(t) + k_begin(), op.k_dim, double{op.norm_eps});
    const double scale = 1.0 / std::sqrt(static_cast<double>(op.k_dim));
    for (int64_t p = 0; p < op.v_dim; ++p) {
      double sum = 0.0;
      for (int64_t i = 0; i < op.k_dim; ++i) sum += q[static_cast<size_t>(i)] * state[i * op.v_dim + p];
      call.output(0).store(t, v_begin() + p, scale * sum);
    }
  }
};

}  // namespace

void gated_delta(const Call& call) {
  const std::vector<double> a_log = call.weight_row(0, 0), dt_bias = call.weight_row(1, 0);
  scan_all(call, [&](int64_t head) {
    const auto h = static_cast<size_t>(head);
    return Head{call, call.op<GatedDelta>(), head, -std::exp(a_log[h]), dt_bias[h]};
  });
}

}  // namespace skua::ref
