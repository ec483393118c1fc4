// MoeExperts: the chosen experts of a token, one after another.
#include <algorithm>
#include <cmath>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

struct Experts {
  const MoeExperts& op;
  EncodedMatrix gate, up, down;
  std::vector<double> gate_bias, up_bias, down_bias;  // empty = none

  explicit Experts(const Call& call)
      : op(call.op<MoeExperts>()), gate(call.weight(0)), up(call.weight(1)), down(call.weight(2)) {
    if (!op.gate_bias) return;
    gate_bias = call.weight_row(3, 0);
    up_bias = call.weight_row(4, 0);
    down_bias = call.weight_row(5, 0);
  }

  static double product(const EncodedMatrix& w, const std::vector<double>& bias, int64_t row,
                        const double* x) {
    std::vector<float> stored(static_cast<size_t>(w.cols));
    decode_row(w, row, 0, w.cols, stored.data());
    const std::vector<double> values(stored.begin(), stored.end());
    return dot(x, values.data(), w.cols) + (bias.empty() ? 0.0 : bias[static_cast<size_t>(row)]);
  }

  double hidden(double g, double u) const {
    if (op.swiglu_limit == 0.0f) return activate(op.act, g) * u;
    const double limit = op.swiglu_limit;
    g = std::min(g, limit);
    u = std::clamp(u, -limit, limit);
    return (u + 1.0) * g / (1.0 + std::exp(-1.702 * g));
  }

  /// Adds weight * expert(x) to y.
  void add(int64_t expert, double weight, const double* x, std::vector<double>& y) const {
    const bool before = op.weigh == MoeExperts::Weigh::kInput;
    std::vector<double> input(x, x + gate.cols);
    if (before) {
      for (double& v : input) v *= weight;
    }
    const int64_t d_ff = down.cols;
    std::vector<double> h;
    for (int64_t i = 0; i < d_ff; ++i) {
      const int64_t row = expert * d_ff + i;
      h.push_back(
          hidden(product(gate, gate_bias, row, input.data()), product(up, up_bias, row, input.data())));
    }
    const auto d_model = static_cast<int64_t>(y.size());
    for (int64_t i = 0; i < d_model; ++i) {
      const double out = product(down, down_bias, expert * d_model + i, h.data());
      y[static_cast<size_t>(i)] += before ? out : weight * out;
    }
  }
};

}  // namespace

void moe_experts(const Call& call) {
  const Experts experts(call);
  const Rows x = call.input(0);
  const Rows routing = call.input(1);
  const Rows out = call.output(0);
  for_each(call.pool, x.n, [&](int64_t t) {
    std::vector<double> y(static_cast<size_t>(x.width), 0.0);
    for (int64_t e = 0; e < routing.width; ++e) {
      const double weight = routing.row(t)[e];
      if (weight == 0.0) continue;
      if (e < experts.op.n_experts) {
        experts.add(e, weight, x.row(t), y);
      } else {
        for (int64_t i = 0; i < x.width; ++i) y[static_cast<size_t>(i)] += weight * x.row(t)[i];
      }
    }
    for (int64_t i = 0; i < x.width; ++i) out.store(t, i, y[static_cast<size_t>(i)]);
  });
}

}  // namespace skua::ref
