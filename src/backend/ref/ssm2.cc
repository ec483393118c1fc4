// Ssm2: the state-space recurrence of one head, token after token (formula: ir/op.h).
#include <cmath>

#include "backend/ref/scan.h"

namespace skua::ref {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// One head. State: [state_dim, head_dim]. Kept row: x [n_heads, head_dim], B [n_groups, state_dim], dt.
struct Head {
  const Call& call;
  const Ssm2& op;
  int64_t head;
  double decay, skip, dt_bias;  // decay: -exp(a_log)

  int64_t d_inner() const { return int64_t{op.n_heads} * op.head_dim; }
  int64_t b_begin() const { return d_inner() + head / (op.n_heads / op.n_groups) * op.state_dim; }
  int64_t dt_begin() const { return d_inner() + int64_t{op.n_groups} * op.state_dim; }

  void keep(int64_t t, double* row) const {
    const double* xbc = call.input(0).row(t);
    for (int64_t p = 0; p < op.head_dim; ++p) row[head * op.head_dim + p] = xbc[head * op.head_dim + p];
    if (head % (op.n_heads / op.n_groups) == 0) {  // the group's first head keeps B
      for (int64_t n = 0; n < op.state_dim; ++n) row[b_begin() + n] = xbc[b_begin() + n];
    }
    row[dt_begin() + head] = call.input(1).row(t)[head];
  }

  void advance(double* state, const double* x, const double* b, double dt_in) const {
    const double dt = std::min(std::max(softplus(dt_in + dt_bias), double{op.dt_min}), double{op.dt_max});
    const double factor = std::exp(decay * dt);
    for (int64_t n = 0; n < op.state_dim; ++n) {
      for (int64_t p = 0; p < op.head_dim; ++p) {
        double& s = state[n * op.head_dim + p];
        s = round_to(call.args.slot.storage, factor * s + dt * b[n] * x[p]);
      }
    }
  }

  void replay(double* state, const double* row) const {
    advance(state, row + head * op.head_dim, row + b_begin(), row[dt_begin() + head]);
  }

  void step(double* state, int64_t t) const {
    const double* xbc = call.input(0).row(t);
    const double* x = xbc + head * op.head_dim;
    advance(state, x, xbc + b_begin(), call.input(1).row(t)[head]);
    const double* c = xbc + b_begin() + int64_t{op.n_groups} * op.state_dim;
    for (int64_t p = 0; p < op.head_dim; ++p) {
      double sum = skip * x[p];
      for (int64_t n = 0; n < op.state_dim; ++n) sum += c[n] * state[n * op.head_dim + p];
      call.output(0).store(t, head * op.head_dim + p, sum);
    }
  }
};

}  // namespace

void ssm2(const Call& call) {
  const std::vector<double> a_log = call.weight_row(0, 0);
  const std::vector<double> skip = call.weight_row(1, 0), dt_bias = call.weight_row(2, 0);
  scan_all(call, [&](int64_t head) {
    const auto h = static_cast<size_t>(head);
    return Head{call, call.op<Ssm2>(), head, -std::exp(a_log[h]), skip[h], dt_bias[h]};
  });
}

}  // namespace skua::ref
