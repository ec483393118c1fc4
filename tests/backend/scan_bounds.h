// How far float32 states of scans may be from float64, token after token; for op_bounds.
#pragma once

#include <vector>

#include "backend/host_random.h"
#include "ir/op.h"

namespace skua::test {

/// What is known of a scan's state after a token: sizes that it has at most, and its errors.
struct ScanState {
  std::vector<double> value, error;
};

/// GatedDelta: Euclidean norms over k_dim, by value head and column. With |k| = 1 the step (I - beta k k^T)
/// never makes an error larger.
struct DeltaBounds {
  const GatedDelta& op;
  std::vector<double> a_log, dt_bias;
  double u = 0;

  ScanState advance(ScanState state, const double* v, const double* a, const double* b) const;
  /// Slack of y, one token.
  std::vector<double> slack(const ScanState& state) const;
};

/// Ssm1: by channel and number.
struct Ssm1Bounds {
  const HostWeight& a_log;
  std::vector<double> dt_bias, skip;
  double u = 0;

  ScanState advance(ScanState state, const double* x, const double* dt, const double* b) const;
  std::vector<double> slack(const ScanState& state, const double* x, const double* c) const;
};

}  // namespace skua::test
