// Judges a kernel's output against float64, element by element, on the operands that the kernel saw. Never by
// a whole-tensor similarity: that passes a sign-flipped element and a dropped tile tail.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace skua::test {

/// Unit roundoff of a storage type: half the distance of neighbours at 1.
double unit_roundoff(DType type);

/// Half of the smallest positive value of a storage type: what rounding may lose near zero.
double underflow(DType type);

/// Outcome of one comparison. `ratio` is error / bound.
struct Verdict {
  size_t n = 0;
  size_t n_over = 0;     // elements beyond their bound, or whose NaN/Inf pattern differs
  double max_ratio = 0;  // infinite for a pattern mismatch
  double p99_ratio = 0;
  double max_error = 0;  // over finite elements
  size_t worst = 0;      // index of max_ratio
  double worst_got = 0;
  double worst_exact = 0;
  double worst_bound = 0;

  bool pass() const { return n_over == 0; }
  std::string text() const;
};

/// Passes element i if |got - exact| <= u(storage) |exact| + slack[i] + underflow(storage), where slack[i] =
/// depth * u_acc * S (S = sum of |a||b|; see op_bounds.h for each op's). NaN must meet NaN, an infinity the
/// same infinity. Sizes must agree.
Verdict judge(std::span<const double> got, std::span<const double> exact, std::span<const double> slack,
              DType storage);

}  // namespace skua::test
