#include "sample/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/exp.h"

namespace skua {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

SamplingParams plain() { return {.temperature = 1.0f, .top_k = 0, .top_p = 1.0f, .min_p = 0.0f}; }

int32_t sample(const std::vector<float>& logits, const SamplingParams& params,
               std::vector<int32_t> history = {}, uint64_t position = 0) {
  const auto id = sample_token(logits, params, history, position);
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? *id : -1;
}

/// The distribution after every stage, written as plainly as can be: sorts everything, long double
/// throughout.
std::map<int32_t, double> model(std::vector<float> logits, const SamplingParams& p,
                                const std::vector<int32_t>& history) {
  const auto window = p.repeat_last_n < 0
                          ? history.size()
                          : std::min<size_t>(history.size(), static_cast<size_t>(p.repeat_last_n));
  const std::set<int32_t> seen(history.end() - static_cast<long>(window), history.end());
  for (int32_t id : seen) {
    float& l = logits[static_cast<size_t>(id)];
    l = l > 0 ? l / p.repetition_penalty : l * p.repetition_penalty;
  }
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (p.top_k > 0 && static_cast<size_t>(p.top_k) < ids.size()) ids.resize(static_cast<size_t>(p.top_k));
  const auto probabilities = [&](double temperature) {
    std::vector<long double> out;
    long double sum = 0;
    for (int32_t id : ids)
      out.push_back(std::exp(
          (static_cast<long double>(logits[static_cast<size_t>(id)]) - logits[static_cast<size_t>(ids[0])]) /
          temperature));
    for (long double v : out) sum += v;
    for (long double& v : out) v /= sum;
    return out;
  };
  auto probs = probabilities(1.0);
  long double mass = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool tail = i > 0 && (mass >= static_cast<long double>(p.top_p) ||
                                probs[i] < static_cast<long double>(p.min_p) * probs[0]);
    if (tail && (p.top_p < 1.0f || p.min_p > 0)) {
      ids.resize(i);
      break;
    }
    mass += probs[i];
  }
  probs = probabilities(p.temperature);
  std::map<int32_t, double> out;
  for (size_t i = 0; i < ids.size(); ++i) out[ids[i]] = static_cast<double>(probs[i]);
  return out;
}

TEST(Exp, IsWithinFourE16OfLongDouble) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(-700, 700);
  for (int i = 0; i < 200000; ++i) {
    const double x = i < 1000 ? (i - 500) * 1e-3 : uniform(rng);
    const long double want = std::exp(static_cast<long double>(x));
    EXPECT_LE(std::abs(static_cast<long double>(exact_exp(x)) / want - 1), 4e-16L) << x;
  }
  EXPECT_EQ(exact_exp(0), 1.0);
  EXPECT_EQ(exact_exp(-800), 0.0);
  EXPECT_EQ(exact_exp(-static_cast<double>(kInf)), 0.0);
  EXPECT_TRUE(std::isinf(exact_exp(710)));
  EXPECT_TRUE(std::isnan(exact_exp(std::nan(""))));
}

TEST(Sampling, GreedyTakesTheHighestAndTheLowestIdAmongEquals) {
  SamplingParams greedy = plain();
  greedy.temperature = 0;
  EXPECT_EQ(sample({1, 5, 2, 5, -3}, greedy), 1);
  EXPECT_EQ(sample({-kInf, -7, -kInf}, greedy), 1);
}

TEST(Sampling, FollowsThePlainModelOnRandomCases) {
  std::mt19937_64 rng(7);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<float> logits(2 + rng() % 60);
    for (float& l : logits) l = static_cast<float>(uniform(-6, 6));
    if (round % 5 == 0) logits[1] = logits[0];
    std::vector<int32_t> history(rng() % 20);
    for (int32_t& id : history) id = static_cast<int32_t>(rng() % logits.size());
    SamplingParams p{.temperature = static_cast<float>(uniform(0.2, 2)),
                     .top_k = static_cast<int32_t>(rng() % 20),
                     .top_p = static_cast<float>(round % 3 == 0 ? 1.0 : uniform(0.1, 1)),
                     .min_p = static_cast<float>(round % 4 == 0 ? 0.0 : uniform(0, 0.3)),
                     .repetition_penalty = static_cast<float>(round % 2 == 0 ? 1.0 : uniform(0.5, 2)),
                     .repeat_last_n = static_cast<int32_t>(rng() % 12) - 1,
                     .seed = rng()};
    const auto want = model(logits, p, history);
    std::map<int32_t, int> counts;
    constexpr int kDraws = 2000;
    for (int i = 0; i < kDraws; ++i) ++counts[sample(logits, p, history, static_cast<uint64_t>(i))];
    double chi2 = 0;
    for (const auto& [id, n] : counts) ASSERT_TRUE(want.contains(id)) << "round " << round << " id " << id;
    for (const auto& [id, prob] : want) chi2 += std::pow(counts[id] - prob * kDraws, 2) / (prob * kDraws + 1);
    // Mean of chi2 is at most the number of outcomes; six deviations above it.
    const auto n = static_cast<double>(want.size());
    EXPECT_LE(chi2, n + 6 * std::sqrt(2 * n)) << "round " << round;
  }
}

// Fault B083: logits 3, 2, 1, top_p 0.8, temperature 0.5: temperature comes last, so tokens 0 and 1 stay.
TEST(Sampling, TemperatureComesAfterTheCutOffs) {
  SamplingParams p = plain();
  p.top_p = 0.8f;
  p.temperature = 0.5f;
  std::map<int32_t, int> counts;
  for (uint64_t i = 0; i < 20000; ++i) ++counts[sample({3, 2, 1}, p, {}, i)];
  EXPECT_EQ(counts.size(), 2u);
  const double first = 1.0 / (1.0 + std::exp(-2.0));
  EXPECT_NEAR(counts[0] / 20000.0, first, 0.01);
}

// Fault B088: once per distinct token, however often it occurred.
TEST(Sampling, RepetitionPenaltyCountsATokenOnce) {
  SamplingParams p = plain();
  p.temperature = 0;
  p.repetition_penalty = 1.1f;
  p.repeat_last_n = -1;
  EXPECT_EQ(sample({5.0f, 4.0f}, p, std::vector<int32_t>(20, 0)), 0);  // 5 / 1.1 = 4.5
  EXPECT_EQ(sample({4.2f, 4.0f}, p, std::vector<int32_t>(20, 0)), 1);
  EXPECT_EQ(sample({-4.0f, -4.2f}, p, {0}), 1);  // negative logits are multiplied
  p.repeat_last_n = 1;
  EXPECT_EQ(sample({4.2f, 4.0f}, p, {0, 5, 1}), 0);
}

// Fault B091: the draw is a function of seed and position alone.
TEST(Sampling, EqualSeedsGiveEqualTokensAndOthersDiffer) {
  SamplingParams p = plain();
  const std::vector<float> flat(1000, 0.0f);
  std::vector<int32_t> first, again, other;
  for (uint64_t i = 0; i < 50; ++i) {
    p.seed = 123;
    first.push_back(sample(flat, p, {}, i));
    again.push_back(sample(flat, p, {7, 8}, i));
    p.seed = 124;
    other.push_back(sample(flat, p, {}, i));
  }
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(Sampling, DrawsAreUniform) {
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

// Fault B128: NaN, or nothing allowed, ends this request with an error instead of random text.
TEST(Sampling, NanAndAllMinusInfinityAreErrors) {
  EXPECT_EQ(sample_token(std::vector<float>{1, NAN}, plain(), {}, 0).status().code(), Code::kInternal);
  EXPECT_EQ(sample_token(std::vector<float>{-kInf, -kInf}, plain(), {}, 0).status().code(), Code::kInternal);
  EXPECT_EQ(sample_token(std::vector<float>{kInf, 1}, plain(), {}, 0).status().code(), Code::kInternal);
}

TEST(Sampling, ValidateNamesParameterValueAndRange) {
  const auto message = [](SamplingParams p) { return validate(p).message(); };
  EXPECT_TRUE(validate(SamplingParams{}).ok());
  EXPECT_EQ(message({.top_p = 1.5f}), "[sampling] top-p must be 0 to 1, got 1.5");
  EXPECT_NE(message({.temperature = -0.1f}), "");
  EXPECT_NE(message({.temperature = NAN}), "");
  EXPECT_NE(message({.top_k = -1}), "");
  EXPECT_NE(message({.min_p = 2.0f}), "");
  EXPECT_NE(message({.repetition_penalty = 0.0f}), "");
  EXPECT_NE(message({.repeat_last_n = -2}), "");
}

}  // namespace
}  // namespace skua
