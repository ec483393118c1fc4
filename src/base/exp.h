// exp in float64 that gives the same bits on every machine: no libm, no fused operations.
#pragma once

#include <bit>
#include <cstdint>

namespace skua {

/// e^x. Relative error below 4e-16 for -700 <= x <= 700; 0 below -745, infinity above 709.78; NaN stays NaN.
inline double exact_exp(double x) {
  if (!(x > -745.0)) return x <= -745.0 ? 0.0 : x;
  if (x > 709.78) return std::bit_cast<double>(uint64_t{0x7FF0000000000000});
  constexpr double kLog2e = 1.4426950408889634;
  constexpr double kLn2High = 0.6931471803691238;     // upper 33 bits of ln 2
  constexpr double kLn2Low = 1.9082149292705877e-10;  // the rest
  const double shifted = x * kLog2e + (x < 0 ? -0.5 : 0.5);
  const auto k = static_cast<int64_t>(shifted);
  const double r = (x - static_cast<double>(k) * kLn2High) - static_cast<double>(k) * kLn2Low;
  double sum = 1.0;
  for (int i = 13; i >= 1; --i) sum = 1.0 + r / i * sum;  // Taylor series, |r| <= 0.35
  // Two factors, so that results below the normal range round once.
  const int64_t half = k / 2;
  const auto power = [](int64_t e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); };
  return sum * power(half) * power(k - half);
}

}  // namespace skua
