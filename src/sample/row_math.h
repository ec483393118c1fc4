// Sums over rows of logits, four numbers at a time, in an order that depends on the row's length alone.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace skua {

/// The nearest finite float: a candidate stays one, whatever is done to its logit.
inline float finite_float(double value) {
  constexpr auto kMax = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

/// With z = (logit - top) * inverse_temperature: the sums of e^z and of z e^z. -inf adds nothing.
struct ExpSums {
  double weight = 0;
  double weighted_z = 0;
};

/// `top` must be at least every logit. z below -708 counts as -inf.
ExpSums exp_sums(std::span<const float> logits, double top, double inverse_temperature);

/// out[i] = e^z of logits[i], the same bits that exp_sums() adds. `out` has the size of `logits`.
void exp_weights(std::span<const float> logits, double top, double inverse_temperature,
                 std::span<double> out);

/// Standard deviation (of the population) of the numbers that are not -inf; 0 if there is none.
double deviation(std::span<const float> logits);

}  // namespace skua
