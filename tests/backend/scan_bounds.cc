// Error recurrences of scans, beside the recurrences themselves.
#include "backend/scan_bounds.h"

#include <cmath>

namespace skua::test {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// Relative error of softplus(x), x a rounded sum: log(1 + e^x) is as small as e^x below 0.
double softplus_error(double x, double u) { return (8 + 2 * std::abs(x)) * u; }

}  // namespace

ScanState DeltaBounds::advance(ScanState state, const double* v, const double* a, const double* b) const {
  const auto n_heads = static_cast<size_t>(op.n_v_heads), v_dim = static_cast<size_t>(op.v_dim);
  state.value.resize(n_heads * v_dim);
  state.error.resize(n_heads * v_dim);
  const double depth = op.k_dim / 4.0 + 8;
  for (size_t head = 0; head < n_heads; ++head) {
    const double arg = a[head] + dt_bias[head];
    const double exponent = std::exp(a_log[head]) * softplus(arg);
    const double decay = std::exp(-exponent);
    const double decay_error = exponent * (softplus_error(arg, u) + 4 * u) + 3 * u;
    const double beta = 1 / (1 + std::exp(-b[head])), beta_error = 8 * u, key_error = depth * u;
    for (size_t p = head * v_dim; p < (head + 1) * v_dim; ++p) {
      const double kept = decay * state.value[p];
      const double delta = beta * (std::abs(v[p]) + kept);
      const double delta_error =
          beta * (kept * (key_error + decay_error + depth * u) + 2 * u * std::abs(v[p])) + beta_error * delta;
      double& size = state.value[p];
      double& error = state.error[p];
      error = decay * error + kept * (decay_error + 2 * u) + delta * key_error + delta_error;
      size = kept + delta;
      error += 2 * u * size;
    }
  }
  return state;
}

std::vector<double> DeltaBounds::slack(const ScanState& state) const {
  std::vector<double> out;
  const double scale = 1 / std::sqrt(static_cast<double>(op.k_dim));
  const double depth = op.k_dim / 2.0 + 16;  // of the unit query and of the sum
  for (size_t p = 0; p < state.value.size(); ++p)
    out.push_back(scale * (state.error[p] + depth * u * state.value[p]));
  return out;
}

ScanState Ssm1Bounds::advance(ScanState state, const double* x, const double* dt, const double* b) const {
  const auto n_channels = static_cast<size_t>(a_log.cols), d_state = static_cast<size_t>(a_log.rows);
  std::vector<std::vector<double>> rates;
  for (size_t n = 0; n < d_state; ++n) rates.push_back(a_log.row(static_cast<int64_t>(n)));
  state.value.resize(n_channels * d_state);
  state.error.resize(n_channels * d_state);
  for (size_t c = 0; c < n_channels; ++c) {
    const double arg = dt[c] + dt_bias[c];
    const double step = softplus(arg), step_error = softplus_error(arg, u);
    for (size_t n = 0; n < d_state; ++n) {
      const double exponent = std::exp(rates[n][c]) * step;
      const double decay = std::exp(-exponent), decay_error = exponent * (step_error + 4 * u) + 3 * u;
      const double added = std::abs(step * b[n] * x[c]);
      double& size = state.value[c * d_state + n];
      double& error = state.error[c * d_state + n];
      error = decay * error + decay * size * (decay_error + u) + added * (step_error + 3 * u);
      size = decay * size + added;
      error += u * size;
    }
  }
  return state;
}

std::vector<double> Ssm1Bounds::slack(const ScanState& state, const double* x, const double* c) const {
  const auto d_state = static_cast<size_t>(a_log.rows);
  std::vector<double> out;
  for (size_t channel = 0; channel < static_cast<size_t>(a_log.cols); ++channel) {
    double sum = 3 * u * std::abs(skip[channel] * x[channel]);
    for (size_t n = 0; n < d_state; ++n) {
      const size_t at = channel * d_state + n;
      sum += std::abs(c[n]) * (state.error[at] + (2 + static_cast<double>(d_state)) * u * state.value[at]);
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace skua::test
