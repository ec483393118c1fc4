// exp over rows: the polynomial of base/exp.h on two float64 lanes. Lane j of a row holds the elements with
// index j mod 4; lanes are added in the end in a fixed order. Vector types of the compiler: the same
// operations, hence the same bits, on every machine.
#include "sample/row_math.h"

#include <cmath>
#include <limits>

#include "base/exp.h"

namespace skua {
namespace {

typedef double Pair __attribute__((vector_size(16)));
typedef uint64_t Bits __attribute__((vector_size(16)));

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
constexpr double kLowest = -708.0;  // e^-708 is a normal number

struct Quad {
  Pair low, high;
};

inline Quad load(const float* p) {
  return {Pair{static_cast<double>(p[0]), static_cast<double>(p[1])},
          Pair{static_cast<double>(p[2]), static_cast<double>(p[3])}};
}

inline Pair masked(Pair value, Bits mask) {
  return reinterpret_cast<Pair>(reinterpret_cast<Bits>(value) & mask);
}

/// e^z for z in [-708, 0], and z itself, both 0 below.
struct Exp {
  Pair weight, z;
};

inline Exp exp_pair(Pair logit, double top, double inverse_temperature) {
  const Pair z_full = (logit - top) * inverse_temperature;
  const Bits mask = reinterpret_cast<Bits>(z_full > kLowest);
  const Pair z = masked(z_full, mask);
  const Pair shifted = z * kLog2e + kRoundShift;
  const Pair rounded = shifted - kRoundShift;
  const Pair r = (z - rounded * kLn2High) - rounded * kLn2Low;
  Pair sum = r * kExpTerms[0] + kExpTerms[1];
  for (int i = 2; i < 12; ++i) sum = kExpTerms[i] + r * sum;
  sum = 1.0 + (r + r * r * sum);
  // The low bits of `shifted` are the exponent.
  const Bits power = (reinterpret_cast<Bits>(shifted) << 52) + (uint64_t{1023} << 52);
  return {masked(sum * reinterpret_cast<Pair>(power), mask), z};
}

/// Calls fn(four logits, index); the last ones are filled up with -inf.
template <typename Fn>
inline void for_quads(std::span<const float> logits, Fn&& fn) {
  size_t i = 0;
  for (; i + 4 <= logits.size(); i += 4) fn(logits.data() + i, i);
  if (i == logits.size()) return;
  float rest[4] = {kMinusInf, kMinusInf, kMinusInf, kMinusInf};
  for (size_t j = 0; i + j < logits.size(); ++j) rest[j] = logits[i + j];
  fn(rest, i);
}

inline double total(Pair low, Pair high) {
  const Pair sum = low + high;
  return sum[0] + sum[1];
}

}  // namespace

ExpSums exp_sums(std::span<const float> logits, double top, double inverse_temperature) {
  Pair weight_low{}, weight_high{}, z_low{}, z_high{};
  for_quads(logits, [&](const float* p, size_t) {
    const Quad quad = load(p);
    const Exp low = exp_pair(quad.low, top, inverse_temperature);
    const Exp high = exp_pair(quad.high, top, inverse_temperature);
    weight_low += low.weight;
    weight_high += high.weight;
    z_low += low.weight * low.z;
    z_high += high.weight * high.z;
  });
  return {total(weight_low, weight_high), total(z_low, z_high)};
}

void exp_weights(std::span<const float> logits, double top, double inverse_temperature,
                 std::span<double> out) {
  for_quads(logits, [&](const float* p, size_t i) {
    const Quad quad = load(p);
    const Exp low = exp_pair(quad.low, top, inverse_temperature);
    const Exp high = exp_pair(quad.high, top, inverse_temperature);
    const double four[4] = {low.weight[0], low.weight[1], high.weight[0], high.weight[1]};
    for (size_t j = 0; j < 4 && i + j < out.size(); ++j) out[i + j] = four[j];
  });
}

double deviation(std::span<const float> logits) {
  Pair sum_low{}, sum_high{}, n_low{}, n_high{};
  const auto finite = [](Pair value) {
    return reinterpret_cast<Bits>(value > static_cast<double>(kMinusInf));
  };
  const Pair one = {1.0, 1.0};
  for_quads(logits, [&](const float* p, size_t) {
    const Quad quad = load(p);
    sum_low += masked(quad.low, finite(quad.low));
    sum_high += masked(quad.high, finite(quad.high));
    n_low += masked(one, finite(quad.low));
    n_high += masked(one, finite(quad.high));
  });
  const double n = total(n_low, n_high);
  if (n == 0) return 0;
  const double mean = total(sum_low, sum_high) / n;
  Pair square_low{}, square_high{};
  for_quads(logits, [&](const float* p, size_t) {
    const Quad quad = load(p);
    const Pair low = masked(quad.low - mean, finite(quad.low));
    const Pair high = masked(quad.high - mean, finite(quad.high));
    square_low += low * low;
    square_high += high * high;
  });
  return std::sqrt(total(square_low, square_high) / n);
}

}  // namespace skua
