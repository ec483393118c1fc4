// How far a float32 kernel may be from float64, per op and element: depth * u_acc * S.
#pragma once

#include <vector>

#include "backend/op_harness.h"

namespace skua::test {

/// Slack of every element of `output`, rows of all steps joined; `exact` are the pure float64 results of the
/// case. S and depth by op (n = length of the sum, eight partial sums assumed):
///   embed, add, scale, gather_rows  0: one rounding, that of the output
///   rms_norm       |x / rms| (|w| + |offset|), 8 + n/32 (a relative error of the mean square, halved by the
///   root) linear         sum |x||w| + |bias|, 16 + n/8 rope_angles    attention_factor, 1;  rope  |a cos| +
///   |b sin|, 2 act_mul        |y| (silu, relu) or |gate up| (gelu: cancels for negative x), 8;  softcap |y|,
///   8 gated_linear   the linears' errors through act(g) u, |act'| <= 1.13, plus the rounding of both
///   products attention      max |v| (2 (k_dim/8 + 8) S_score + n_keys/4 + 32), S_score = |scale| |q||k|
///   (Euclidean) at most, or the sink's size
std::vector<double> slack_of(const OpCase& op_case, const std::vector<StepValues>& exact, ValueId output,
                             double u_acc);

}  // namespace skua::test
