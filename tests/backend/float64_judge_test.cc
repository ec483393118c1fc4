// The comparator must catch every planted fault; each was chosen because a whole-tensor similarity passes it
// or nearly so.
#include "backend/float64_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/host_random.h"

namespace skua::test {
namespace {

constexpr int64_t kTokens = 96;
constexpr int64_t kCols = 512;
constexpr int64_t kRows = 128;
constexpr int64_t kTile = 64;

size_t at(int64_t t, int64_t n) { return static_cast<size_t>(t * kRows + n); }

/// A bf16 product with f32 accumulation, its float64 reference, and what the reference says about each
/// element.
struct Product {
  std::vector<double> got, exact, slack;

  explicit Product(uint64_t seed) {
    Random random(seed);
    const auto values = [&](int64_t n) {
      std::vector<double> out(static_cast<size_t>(n));
      for (double& v : out) v = round_to(DType::kBF16, random.uniform());
      return out;
    };
    a_ = values(kTokens * kCols);
    b_ = values(kRows * kCols);
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t n = 0; n < kRows; ++n) add_element(t, n);
    }
  }

  /// The float32 sum over the first `cols` columns, rounded to bf16: what a kernel that drops the rest
  /// computes.
  double cut_sum(int64_t t, int64_t n, int64_t cols) const {
    float lanes[4] = {};
    for (int64_t k = 0; k < cols; ++k)
      lanes[k % 4] += static_cast<float>(a(t, k)) * static_cast<float>(b(n, k));
    return round_to(DType::kBF16, (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  }

  Verdict verdict() const { return judge(got, exact, slack, DType::kBF16); }

 private:
  double a(int64_t t, int64_t k) const { return a_[static_cast<size_t>(t * kCols + k)]; }
  double b(int64_t n, int64_t k) const { return b_[static_cast<size_t>(n * kCols + k)]; }

  void add_element(int64_t t, int64_t n) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t k = 0; k < kCols; ++k) {
      sum += a(t, k) * b(n, k);
      magnitude += std::abs(a(t, k) * b(n, k));
    }
    constexpr double kDepth = kCols / 4 + 3;
    got.push_back(cut_sum(t, n, kCols));
    exact.push_back(sum);
    slack.push_back(kDepth * unit_roundoff(DType::kF32) * magnitude);
  }

  std::vector<double> a_, b_;
};

class PlantedFault : public testing::Test {
 protected:
  Product product_{42};

  void expect_caught(size_t least_over) const {
    const Verdict verdict = product_.verdict();
    EXPECT_FALSE(verdict.pass()) << verdict.text();
    EXPECT_GE(verdict.n_over, least_over) << verdict.text();
    std::printf("  %s\n", verdict.text().c_str());
  }
};

TEST_F(PlantedFault, NonePasses) {
  const Verdict verdict = product_.verdict();
  EXPECT_TRUE(verdict.pass()) << verdict.text();
  EXPECT_GT(verdict.max_ratio, 0.5) << "the bound is so wide that it says nothing: " << verdict.text();
  EXPECT_LE(verdict.p99_ratio, verdict.max_ratio);
}

TEST_F(PlantedFault, OneElementSignFlipped) {
  const size_t victim = at(37, 101);
  product_.got[victim] = -product_.got[victim];
  expect_caught(1);
  EXPECT_EQ(product_.verdict().worst, victim);
  EXPECT_EQ(product_.verdict().n_over, 1u);
}

TEST_F(PlantedFault, OneRowZeroed) {
  for (int64_t n = 0; n < kRows; ++n) product_.got[at(95, n)] = 0.0;
  expect_caught(kRows - 4);
}

TEST_F(PlantedFault, OneTileDropsTheLastFourColumns) {
  for (int64_t t = 0; t < kTile; ++t) {
    for (int64_t n = kRows - kTile; n < kRows; ++n)
      product_.got[at(t, n)] = product_.cut_sum(t, n, kCols - 4);
  }
  expect_caught(kTile * kTile / 2);
}

TEST_F(PlantedFault, OneColumnTwoPercentLarge) {
  for (int64_t t = 0; t < kTokens; ++t) product_.got[at(t, 5)] *= 1.02;
  expect_caught(kTokens * 3 / 4);
}

TEST_F(PlantedFault, NanInTheOutput) {
  product_.got[at(3, 3)] = std::numeric_limits<double>::quiet_NaN();
  expect_caught(1);
  EXPECT_EQ(product_.verdict().worst, at(3, 3));
}

TEST_F(PlantedFault, NumberWhereNanIsDue) {
  product_.exact[at(3, 3)] = std::numeric_limits<double>::quiet_NaN();
  expect_caught(1);
}

TEST_F(PlantedFault, InfinityInTheOutput) {
  product_.got[at(0, 0)] = std::numeric_limits<double>::infinity();
  expect_caught(1);
}

TEST_F(PlantedFault, InfinityOfTheOtherSign) {
  product_.exact[at(0, 0)] = std::numeric_limits<double>::infinity();
  product_.got[at(0, 0)] = -std::numeric_limits<double>::infinity();
  expect_caught(1);
}

TEST_F(PlantedFault, SwappedRows) {
  for (int64_t n = 0; n < kRows; ++n) std::swap(product_.got[at(10, n)], product_.got[at(11, n)]);
  expect_caught(2 * kRows - 8);
}

TEST_F(PlantedFault, StaleOutputOfAnEarlierCallInOneTile) {
  const Product earlier(43);
  for (int64_t t = 0; t < 8; ++t) {
    for (int64_t n = 0; n < 8; ++n) product_.got[at(t, n)] = earlier.got[at(t, n)];
  }
  expect_caught(60);
}

TEST_F(PlantedFault, LastElementUnwritten) {
  product_.got.back() = std::numeric_limits<double>::quiet_NaN();
  expect_caught(1);
  EXPECT_EQ(product_.verdict().worst, product_.got.size() - 1);
}

TEST(Judge, MatchingNanAndInfinityPass) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> got = {nan, inf, -inf, inf};
  const std::vector<double> exact = {nan, inf, -inf, 1e39};  // the last one overflows float32
  EXPECT_TRUE(judge(got, exact, std::vector<double>(4), DType::kF32).pass());
}

TEST(Judge, AllowsOneRoundingOfTheStorageTypeAndNoMore) {
  const double exact = 1.0 + 0x1p-9;  // bf16 neighbours: 1 and 1 + 2^-7
  const std::vector<double> slack(1, 0.0);
  EXPECT_TRUE(judge(std::vector<double>{1.0}, std::vector<double>{exact}, slack, DType::kBF16).pass());
  EXPECT_FALSE(
      judge(std::vector<double>{1.0 + 0x1p-7}, std::vector<double>{exact}, slack, DType::kBF16).pass());
  EXPECT_TRUE(judge(std::vector<double>{0.0}, std::vector<double>{0x1p-151}, slack, DType::kF32).pass());
}

TEST(Judge, NothingToCompareIsNoFault) { EXPECT_TRUE(judge({}, {}, {}, DType::kF32).pass()); }

}  // namespace
}  // namespace skua::test
