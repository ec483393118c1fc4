#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/exp.h"
#include "sample/random.h"
#include "sample/row_math.h"

namespace skua {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Exp, IsWithinFourE16OfLongDouble) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(-700, 700);
  for (int i = 0; i < 200000; ++i) {
    const double x = i < 1000 ? (i - 500) * 1e-3 : uniform(rng);
    const long double want = std::exp(static_cast<long double>(x));
    ASSERT_LE(std::abs(static_cast<long double>(exact_exp(x)) / want - 1), 4e-16L) << x;
  }
  EXPECT_EQ(exact_exp(0), 1.0);
  EXPECT_EQ(exact_exp(-800), 0.0);
  EXPECT_EQ(exact_exp(-kInf), 0.0);
  EXPECT_TRUE(std::isinf(exact_exp(710)));
  EXPECT_TRUE(std::isnan(exact_exp(std::nan(""))));
}

TEST(Log, IsWithinSixE16OfLongDouble) {
  std::mt19937_64 rng(2);
  std::uniform_real_distribution<double> uniform(-740, 709), near_one(0.5, 2);
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? std::exp(uniform(rng)) : near_one(rng);
    const long double want = std::log(static_cast<long double>(x));
    ASSERT_LE(std::abs(static_cast<long double>(exact_log(x)) - want), 6e-16L * std::abs(want)) << x;
  }
  EXPECT_EQ(exact_log(1), 0.0);
  EXPECT_EQ(exact_log(0), -kInf);
  EXPECT_EQ(exact_log(kInf), kInf);
  EXPECT_TRUE(std::isnan(exact_log(-1)));
  EXPECT_TRUE(std::isnan(exact_log(std::nan(""))));
}

TEST(Pow, AgreesWithLongDouble) {
  for (double x : {0.0, 1e-3, 0.3, 1.0, 1.75, 90.0}) {
    for (double y : {0.0, 0.5, 1.0, 3.0, 12.5}) {
      const double want = std::pow(x, y);
      EXPECT_NEAR(exact_pow(x, y), want, 1e-13 * want) << x << "^" << y;
    }
  }
}

// The same bits on this machine as on any other: results of one run, kept.
TEST(ExpLog, GiveKnownBits) {
  uint64_t hash = 0;
  for (int i = -4000; i < 4000; ++i) {
    hash = hash * 31 + std::bit_cast<uint64_t>(exact_exp(i * 0.17));
    hash = hash * 31 + std::bit_cast<uint64_t>(exact_log(1e-3 + (i + 4000) * 0.37));
  }
  EXPECT_EQ(hash, 6268759935888961999u);
}

TEST(RowMath, SumsAndWeightsAgreeWithLongDouble) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<float> uniform(-30, 30);
  for (size_t n : {1u, 2u, 3u, 4u, 5u, 31u, 1000u, 4097u}) {
    std::vector<float> row(n);
    for (float& x : row) x = uniform(rng);
    if (n > 4) row[2] = -std::numeric_limits<float>::infinity();
    const auto top = static_cast<double>(*std::max_element(row.begin(), row.end()));
    const double inverse_temperature = 1.3;
    std::vector<double> weights(n);
    exp_weights(row, top, inverse_temperature, weights);
    long double sum = 0, weighted = 0;
    for (size_t i = 0; i < n; ++i) {
      const long double z = (static_cast<long double>(row[i]) - top) * inverse_temperature;
      EXPECT_NEAR(weights[i], static_cast<double>(std::exp(z)), 1e-14 * weights[i]);
      sum += std::exp(z);
      if (!std::isinf(row[i])) weighted += z * std::exp(z);
    }
    const ExpSums sums = exp_sums(row, top, inverse_temperature);
    EXPECT_NEAR(sums.weight, static_cast<double>(sum), 1e-14 * sums.weight);
    EXPECT_NEAR(sums.weighted_z, static_cast<double>(weighted), 1e-13 * std::abs(sums.weighted_z));
  }
}

TEST(RowMath, DeviationPassesOverMinusInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_DOUBLE_EQ(deviation(std::vector<float>{1, -inf, 3, 5, 7, -inf}), std::sqrt(5.0));
  EXPECT_EQ(deviation(std::vector<float>{4}), 0.0);
  EXPECT_EQ(deviation(std::vector<float>{-inf}), 0.0);
}

TEST(Random, DrawsAreUniform) {
  std::vector<int> bins(64, 0);
  for (uint64_t i = 0; i < 64000; ++i) {
    const double u = uniform_draw(i % 7, i, i % 3);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<size_t>(u * 64)];
  }
  double chi2 = 0;
  for (int n : bins) chi2 += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 63 + 6 * std::sqrt(126.0));
}

}  // namespace
}  // namespace skua
