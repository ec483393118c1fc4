// exp, log and pow in float64 that give the same bits on every machine: no libm, no fused operations.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace skua {

inline constexpr double kLog2e = 1.4426950408889634;
inline constexpr double kLn2High = 0.6931471803691238;     // upper 33 bits of ln 2
inline constexpr double kLn2Low = 1.9082149292705877e-10;  // the rest
inline constexpr double kRoundShift = 0x1.8p52;            // adding it rounds to an integer, in the low bits
/// Taylor coefficients of e^r behind 1 + r, highest first: 1/13! to 1/2!.
inline constexpr double kExpTerms[12] = {
    1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
    1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,      1.0 / 24.0,      1.0 / 6.0,      1.0 / 2.0};

/// e^x. Relative error below 4e-16 for -700 <= x <= 700; 0 below -745, infinity above 709.78; NaN stays NaN.
inline double exact_exp(double x) {
  if (!(x > -745.0)) return x <= -745.0 ? 0.0 : x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  const double shifted = x * kLog2e + kRoundShift;
  const double rounded = shifted - kRoundShift;
  const double r = (x - rounded * kLn2High) - rounded * kLn2Low;  // |r| <= 0.35
  double sum = kExpTerms[0];
  for (int i = 1; i < 12; ++i) sum = kExpTerms[i] + r * sum;
  sum = 1.0 + (r + r * r * sum);
  // Two factors, so that results below the normal range round once.
  const auto k = static_cast<int64_t>(rounded);
  const int64_t half = k / 2;
  const auto power = [](int64_t e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); };
  return sum * power(half) * power(k - half);
}

/// Natural logarithm. Relative error below 6e-16; minus infinity at 0; NaN for negative numbers and NaN.
inline double exact_log(double x) {
  using Limits = std::numeric_limits<double>;
  if (!(x > 0)) return x == 0 ? -Limits::infinity() : Limits::quiet_NaN();
  if (x > Limits::max()) return x;
  int64_t e = 0;
  if (x < Limits::min()) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  e += static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  // ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int i = 12; i >= 1; --i) sum = s2 * (1.0 / (2 * i + 1) + sum);
  const auto k = static_cast<double>(e);
  return k * kLn2High + (2 * s + (2 * s * sum + k * kLn2Low));
}

/// x^y for x >= 0. Relative error about 1e-15 (1 + |y ln x|).
inline double exact_pow(double x, double y) {
  if (y == 0) return 1.0;
  return exact_exp(y * exact_log(x));
}

}  // namespace skua
