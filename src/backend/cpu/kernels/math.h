// Elementary functions on V16, one source for every kernel of this backend; no libm. Coefficients interpolate
// the named function at Chebyshev nodes of the stated interval (computed in 60 digits). Errors were measured
// against long double over dense samples; tests/backend/cpu/math_test.cc holds them.
#pragma once

#include "backend/cpu/kernels/simd.h"
#include "ir/op.h"

namespace skua::cpu::SKUA_ISA {

/// 2^x. |error| <= 1 ulp; 0 below -150, infinity above 128, NaN stays NaN. Exact for whole x.
inline V16 exp2(V16 x) {
  x = max(splat(-160.0f), min(splat(160.0f), x));
  const V16 n = round_even(x);
  const V16 f = x - n;  // in [-0.5, 0.5], exact
  V16 p = splat(0.0001545316295f);
  p = fma(p, f, splat(0.001339086336f));
  p = fma(p, f, splat(0.009618082557f));
  p = fma(p, f, splat(0.05550357114f));
  p = fma(p, f, splat(0.2402265076f));
  p = fma(p, f, splat(0.693147188f));
  return scale2(fma(p, f, splat(1.0f)), n);
}

/// e^x. |error| <= 1.1 ulp; 0 below -104, infinity above 88.8, NaN stays NaN.
inline V16 exp(V16 x) {
  x = max(splat(-110.0f), min(splat(110.0f), x));
  const V16 n = round_even(x * splat(1.44269504f));
  V16 r = fnma(n, splat(0.693145751953125f), x);  // ln 2 in two parts, the first of 16 bits
  r = fnma(n, splat(1.42860682e-6f), r);
  V16 p = splat(0.001392625083f);
  p = fma(p, r, splat(0.008363232884f));
  p = fma(p, r, splat(0.04166655421f));
  p = fma(p, r, splat(0.1666657667f));
  p = fma(p, r, splat(0.5f));
  return scale2(fma(p * r, r, r) + splat(1.0f), n);
}

/// tanh(x). |error| <= 2 ulp.
inline V16 tanh(V16 x) {
  const V16 a = abs(x);
  const V16 z = x * x;
  V16 p = splat(0.002269501684f);
  p = fma(p, z, splat(-0.008323187058f));
  p = fma(p, z, splat(0.02176250291f));
  p = fma(p, z, splat(-0.05395846163f));
  p = fma(p, z, splat(0.1333330015f));
  p = fma(p, z, splat(-0.3333333315f));
  const V16 small = fma(p * z, a, a);
  const V16 large = splat(1.0f) - splat(2.0f) / (exp(a + a) + splat(1.0f));
  return copy_sign(select(less(a, splat(0.625f)), small, large), x);
}

/// exp(-z^2) * P(t) * t = erfc(z) for z >= 0, with t = 1 / (1 + z/2). Relative error <= 10 ulp.
inline V16 erfc_positive(V16 z) {
  z = min(splat(14.0f), z);
  const V16 t = splat(1.0f) / fma(z, splat(0.5f), splat(1.0f));
  V16 p = splat(0.03861720778f);
  p = fma(p, t, splat(-0.2084402827f));
  p = fma(p, t, splat(0.4279421921f));
  p = fma(p, t, splat(-0.3610436039f));
  p = fma(p, t, splat(0.04765908882f));
  p = fma(p, t, splat(-0.009407974122f));
  p = fma(p, t, splat(0.07410754874f));
  p = fma(p, t, splat(0.1801840335f));
  p = fma(p, t, splat(0.2461311549f));
  p = fma(p, t, splat(0.2821581386f));
  p = fma(p, t, splat(0.2820924995f));
  const V16 square = z * z;
  const V16 rest = fma(z, z, zero() - square);  // what rounding took from the square
  const V16 e = exp(zero() - square);
  return fnma(e, rest, e) * (p * t);
}

/// silu(x) * y = x y / (1 + e^-x). With h = e^(-|x|/2), applied around y, nothing overflows or is subnormal
/// before the last step.
inline V16 silu_times(V16 x, V16 y) {
  const V16 h = exp(abs(x) * splat(-0.5f));
  const V16 part = select(less(x, zero()), h, splat(1.0f));
  return x * part * y * part / fma(h, h, splat(1.0f));
}

/// x (1 + tanh(u)) / 2 = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
inline V16 gelu_tanh(V16 x) {
  const V16 cube = x * x * x;
  const V16 two_u = splat(1.59576912f) * fma(splat(0.044715f), cube, x);
  return x / (splat(1.0f) + exp(zero() - two_u));
}

/// x Phi(x), Phi(x) = erfc(-x / sqrt 2) / 2.
inline V16 gelu_erf(V16 x) {
  const V16 tail = splat(0.5f) * erfc_positive(abs(x) * splat(0.707106781f));
  return x * select(less(x, zero()), tail, splat(1.0f) - tail);
}

inline V16 sigmoid(V16 x) { return splat(1.0f) / (splat(1.0f) + exp(zero() - x)); }

inline V16 relu(V16 x) { return max(zero(), x); }

/// e^x in float64 for -700 <= x <= 0: Taylor series of the part that is no whole power of two.
inline double exp_negative(double x) {
  const double n = __builtin_rint(x * 1.4426950408889634);
  const double r = __builtin_fma(-n, 0x1.62e42fefa39efp-1, x);
  double p = 1.0;
  for (int k = 17; k >= 1; --k) p = __builtin_fma(p * r, 1.0 / k, 1.0);
  return p * __builtin_bit_cast(double, (static_cast<int64_t>(n) + 1023) << 52);
}

/// log(1 + e^a) in float64, for a parameter: relative error < 1e-13. log(1 + u) = 2 atanh(u / (2 + u)).
inline double softplus(double a) {
  const double u = exp_negative(max_of(a < 0 ? a : -a, -700.0));
  const double y = u / (2.0 + u), z = y * y;  // y <= 1/3
  double p = 0.0;
  for (int k = 31; k >= 1; k -= 2) p = __builtin_fma(p, z, 1.0 / k);
  return 2.0 * y * p + (a > 0 ? a : 0.0);
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|). |error| <= 3 ulp; log(1 + u) = 2 atanh(u / (2 + u)), u <= 1.
inline V16 softplus(V16 x) {
  const V16 u = exp(zero() - abs(x));
  const V16 y = u / (u + splat(2.0f)), z = y * y;  // y <= 1/3
  V16 p = splat(1.0f / 15.0f);
  for (int k = 13; k >= 3; k -= 2) p = fma(p, z, splat(1.0f / static_cast<float>(k)));
  const V16 two_y = y + y;
  return relu(x) + fma(p * z, two_y, two_y);
}

/// e^x - 1. |error| <= 3 ulp for x <= 0: a polynomial near 0, where e^x - 1 would cancel.
inline V16 expm1(V16 x) {
  V16 p = splat(1.0f / 5040.0f);
  p = fma(p, x, splat(1.0f / 720.0f));
  p = fma(p, x, splat(1.0f / 120.0f));
  p = fma(p, x, splat(1.0f / 24.0f));
  p = fma(p, x, splat(1.0f / 6.0f));
  p = fma(p, x, splat(0.5f));
  const V16 small = fma(p * x, x, x);
  return select(less(abs(x), splat(0.4f)), small, exp(x) - splat(1.0f));
}

/// act(x) * y: the one formula of act_mul and gated_linear.
inline V16 activate_times(Act act, V16 x, V16 y) {
  switch (act) {
    case Act::kSilu:
      return silu_times(x, y);
    case Act::kGeluTanh:
      return gelu_tanh(x) * y;
    case Act::kGeluErf:
      return gelu_erf(x) * y;
    case Act::kRelu2:
      return relu(x) * relu(x) * y;
    case Act::kSigmoid:
      return sigmoid(x) * y;
    case Act::kRelu:
      break;
  }
  return relu(x) * y;
}

/// Sine and cosine in float64 for |x| < 2^31: three-part reduction by pi/2 (22 + 22 + 53 bits, the first two
/// products exact), then Taylor series up to x^17. |error| < 2^-51.
inline void sin_cos(double x, double* sine, double* cosine) {
  constexpr double kPi1 = 0x1.921fbp+0;           // the top 22 bits of pi/2
  constexpr double kPi2 = 0x1.5110bp-22;          // the next 22 bits
  constexpr double kPi3 = 0x1.18469898cc517p-44;  // the rest, rounded
  const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  const double r = __builtin_fma(-n, kPi3, __builtin_fma(-n, kPi2, __builtin_fma(-n, kPi1, x)));
  const double z = r * r;
  double s = 1.0 / 355687428096000.0;
  s = __builtin_fma(s, z, -1.0 / 1307674368000.0);
  s = __builtin_fma(s, z, 1.0 / 6227020800.0);
  s = __builtin_fma(s, z, -1.0 / 39916800.0);
  s = __builtin_fma(s, z, 1.0 / 362880.0);
  s = __builtin_fma(s, z, -1.0 / 5040.0);
  s = __builtin_fma(s, z, 1.0 / 120.0);
  s = __builtin_fma(s, z, -1.0 / 6.0);
  s = __builtin_fma(s * z, r, r);
  double c = 1.0 / 20922789888000.0;
  c = __builtin_fma(c, z, -1.0 / 87178291200.0);
  c = __builtin_fma(c, z, 1.0 / 479001600.0);
  c = __builtin_fma(c, z, -1.0 / 3628800.0);
  c = __builtin_fma(c, z, 1.0 / 40320.0);
  c = __builtin_fma(c, z, -1.0 / 720.0);
  c = __builtin_fma(c, z, 1.0 / 24.0);
  c = __builtin_fma(c, z, -0.5);
  c = __builtin_fma(c, z, 1.0);
  const int64_t quadrant = static_cast<int64_t>(n) & 3;
  const double first = (quadrant & 1) != 0 ? c : s;
  const double second = (quadrant & 1) != 0 ? s : c;
  *sine = (quadrant & 2) != 0 ? -first : first;
  *cosine = quadrant == 1 || quadrant == 2 ? -second : second;
}

}  // namespace skua::cpu::SKUA_ISA
