// Behaviours of the sampler by name; many are faults that other programs had.
#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace skua {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

SamplingParams plain() {
  SamplingParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

SamplingParams greedy() {
  SamplingParams p;
  p.temperature = 0;
  return p;
}

struct Text {
  std::vector<int32_t> prompt, generated;
};

SampledToken sample(const std::vector<float>& logits, const SamplingParams& params, const Text& text = {},
                    uint64_t position = 0) {
  auto sampler = Sampler::make(params, static_cast<int32_t>(logits.size()));
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  if (!sampler.ok()) return {-1};
  const auto token = sampler->sample(logits, text.prompt, text.generated, position);
  EXPECT_TRUE(token.ok()) << token.status().message();
  return token.ok() ? *token : SampledToken{-1};
}

std::map<int32_t, int> counts(const std::vector<float>& logits, const SamplingParams& params, int n) {
  auto sampler = Sampler::make(params, static_cast<int32_t>(logits.size()));
  std::map<int32_t, int> out;
  for (int i = 0; i < n; ++i) ++out[sampler->sample(logits, {}, {}, static_cast<uint64_t>(i))->id];
  return out;
}

std::string refusal(const SamplingParams& params, int32_t n_vocab = 100) {
  const auto sampler = Sampler::make(params, n_vocab);
  EXPECT_FALSE(sampler.ok());
  if (sampler.ok()) return "";
  EXPECT_EQ(sampler.status().code(), Code::kInvalidArgument);
  return sampler.status().message();
}

TEST(Sampler, DefaultOrderIsTheOneOfLlamaCpp) {
  std::string names;
  for (SamplerStage stage : SamplingParams{}.stages) names += std::string(stage_name(stage)) + ";";
  EXPECT_EQ(names, "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature;");
}

TEST(Sampler, GreedyTakesTheHighestAndTheLowestIdAmongEquals) {
  EXPECT_EQ(sample({1, 5, 2, 5, -3}, greedy()).id, 1);
  EXPECT_EQ(sample({-kInf, -7, -kInf}, greedy()).id, 1);
  std::vector<float> row(1000, 2.0f);
  row[700] = row[900] = 3;
  EXPECT_EQ(sample(row, greedy()).id, 700);
}

TEST(Sampler, TinyTemperaturesAndHugeLogitsStayFinite) {
  SamplingParams p = plain();
  p.temperature = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(sample({1, 3, 2}, p).id, 1);
  const float huge = std::numeric_limits<float>::max();
  p = SamplingParams{};
  p.repetition_penalty = 100;
  p.top_n_sigma = 100;
  p.logprobs = 3;
  p.temperature = 100;
  p.min_p = 1e-30f;
  const SampledToken token = sample({-huge, -huge, huge, 0}, p, {{0, 2}, {}});
  EXPECT_GE(token.id, 0);
  ASSERT_EQ(token.top.size(), 3u);
  for (const TokenLogprob& t : token.top) EXPECT_TRUE(std::isfinite(t.logprob));
}

// Fault B083: logits 3, 2, 1, top_p 0.8, temperature 0.5: temperature comes last, so tokens 0 and 1 stay.
TEST(Sampler, TemperatureComesAfterTheCutOffs) {
  SamplingParams p = plain();
  p.top_p = 0.8f;
  p.temperature = 0.5f;
  auto n = counts({3, 2, 1}, p, 20000);
  EXPECT_EQ(n.size(), 2u);
  EXPECT_NEAR(n[0] / 20000.0, 1.0 / (1.0 + std::exp(-2.0)), 0.01);
  // Asked to come first, it leaves token 0 alone.
  p.stages.insert(p.stages.begin(), p.stages.back());
  p.stages.pop_back();
  EXPECT_EQ(counts({3, 2, 1}, p, 1000).size(), 1u);
}

// Fault B085: ids outside the vocabulary, and biases that are no bias.
TEST(Sampler, LogitBiasIsCheckedBeforeUse) {
  const auto with = [](int32_t id, float bias) {
    SamplingParams p;
    p.logit_bias = {{3, 1.0f}, {id, bias}};
    return p;
  };
  EXPECT_EQ(refusal(with(191222, 1), 128256),
            "[sampling] logit bias: token id must be 0 to 128255, got 191222");
  EXPECT_EQ(refusal(with(-1, 1)), "[sampling] logit bias: token id must be 0 to 99, got -1");
  EXPECT_EQ(refusal(with(7, 1e9f)), "[sampling] logit bias of token 7 must be -100 to 100, got 1000000000");
  EXPECT_EQ(refusal(with(7, NAN)), "[sampling] logit bias of token 7 must be -100 to 100, got nan");
  EXPECT_EQ(refusal(with(7, -kInf)), "[sampling] logit bias of token 7 must be -100 to 100, got -inf");
  SamplingParams p = greedy();
  p.logit_bias = {{2, 100.0f}, {0, -100.0f}};
  EXPECT_EQ(sample({5, 4, 3}, p).id, 2);
  p.logit_bias = {{0, -1.5f}};
  EXPECT_EQ(sample({5, 4, 3}, p).id, 1);
}

// Fault B086: a stop id past the row would change a neighbour's logits.
TEST(Sampler, StopIdsOutsideTheVocabularyAreRefused) {
  SamplingParams p;
  p.stop_ids = {5, 151645};
  p.min_tokens = 3;
  EXPECT_EQ(refusal(p, 129280), "[sampling] stop ids: token id must be 0 to 129279, got 151645");
}

// Fault B088: once per distinct token, however often it occurred.
TEST(Sampler, RepetitionPenaltyCountsATokenOnce) {
  SamplingParams p = greedy();
  p.repetition_penalty = 1.1f;
  p.repeat_last_n = -1;
  const Text twenty{std::vector<int32_t>(20, 0), {}};
  EXPECT_EQ(sample({5.0f, 4.0f}, p, twenty).id, 0);  // 5 / 1.1 = 4.5
  EXPECT_EQ(sample({4.2f, 4.0f}, p, twenty).id, 1);
  EXPECT_EQ(sample({-4.0f, -4.2f}, p, {{0}, {}}).id, 1);  // negative logits are multiplied
  p.repeat_last_n = 1;
  EXPECT_EQ(sample({4.2f, 4.0f}, p, {{0}, {1}}).id, 0);
}

// Fault B089: the prompt does not count; the effect is there at temperature 0 too.
TEST(Sampler, FrequencyAndPresenceCountGeneratedTokensOnly) {
  SamplingParams p = greedy();
  p.frequency_penalty = 2;
  p.presence_penalty = 2;
  EXPECT_EQ(sample({9, 8, 1}, p, {std::vector<int32_t>(10, 0), {}}).id, 0);
  EXPECT_EQ(sample({9, 8, 1}, p, {{}, {0}}).id, 1);
  p.presence_penalty = 0;
  EXPECT_EQ(sample({9, 6, 1}, p, {{0, 0, 0}, {0}}).id, 0);     // 9 - 2
  EXPECT_EQ(sample({9, 6, 1}, p, {{0, 0, 0}, {0, 0}}).id, 1);  // 9 - 4
  p.frequency_penalty = 0;
  p.presence_penalty = 2;
  EXPECT_EQ(sample({9, 6, 1}, p, {{}, {0, 0, 0}}).id, 0);  // once
}

// Fault B091: the draw is a function of seed and position alone.
TEST(Sampler, EqualSeedsGiveEqualTokensAndOthersDiffer) {
  SamplingParams p = plain();
  const std::vector<float> flat(1000, 0.0f);
  std::vector<int32_t> first, again, other;
  p.seed = 123;
  auto warm = Sampler::make(p, 1000);
  for (uint64_t i = 0; i < 50; ++i) {
    p.seed = 123;
    first.push_back(sample(flat, p, {}, i).id);
    again.push_back(warm->sample(flat, std::vector<int32_t>{7, 8}, {}, i)->id);
    p.seed = 124;
    other.push_back(sample(flat, p, {}, i).id);
  }
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_GT(std::set(first.begin(), first.end()).size(), 40u);
}

// Fault B092: logprobs are those of the raw logits whatever else is set, sorted, the chosen one included.
TEST(Sampler, LogprobsDoNotMoveWithTheSampling) {
  std::vector<float> row;
  for (int i = 0; i < 3000; ++i) row.push_back(static_cast<float>((i * 7919) % 3000) / 300.0f);
  row[11] = -kInf;
  long double sum = 0;
  for (float x : row) sum += std::exp(static_cast<long double>(x));
  const auto want = [&](int32_t id) {
    return static_cast<float>(static_cast<long double>(row[static_cast<size_t>(id)]) - std::log(sum));
  };
  std::vector<SampledToken> tokens;
  for (float temperature : {0.0f, 0.5f, 2.0f}) {
    SamplingParams p = plain();
    p.temperature = temperature;
    p.logprobs = 5;
    p.top_p = 0.9f;
    p.logit_bias = {{8, 50.0f}};  // the choice falls on a token outside the list
    p.frequency_penalty = 1;
    tokens.push_back(sample(row, p, {{1}, {2, 2, 3}}));
    p.allowed_ids = {8, 9};
    tokens.push_back(sample(row, p));
  }
  for (const SampledToken& token : tokens) {
    EXPECT_EQ(token.id, 8);
    EXPECT_FLOAT_EQ(token.logprob, want(8));
    ASSERT_EQ(token.top.size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(token.top[i].id, tokens[0].top[i].id);
      EXPECT_EQ(token.top[i].logprob, tokens[0].top[i].logprob);
      EXPECT_FLOAT_EQ(token.top[i].logprob, want(token.top[i].id));
      EXPECT_EQ(row[static_cast<size_t>(token.top[i].id)], static_cast<float>(2999 - i) / 300.0f);
    }
  }
}

TEST(Sampler, LogprobsAreGivenOnlyWhenAskedForAndNeverMinusInfinity) {
  SamplingParams p = greedy();
  EXPECT_TRUE(sample({1, 2, 3}, p).top.empty());
  p.logprobs = 0;
  EXPECT_TRUE(sample({1, 2, 3}, p).top.empty());
  EXPECT_LT(sample({1, 2, 3}, p).logprob, 0.0f);
  p.logprobs = 3;
  const SampledToken token = sample({1, -kInf, 3}, p);
  ASSERT_EQ(token.top.size(), 2u);  // what cannot happen is not listed
  EXPECT_EQ(token.top[0].id, 2);
  EXPECT_EQ(token.top[1].id, 0);
}

// Fault B128: NaN, or nothing allowed, ends this request with an error instead of random text.
TEST(Sampler, NanAndAllMinusInfinityAreErrors) {
  const auto code = [](const std::vector<float>& row, std::span<const uint32_t> mask = {}) {
    auto sampler = Sampler::make(plain(), static_cast<int32_t>(row.size()));
    return sampler->sample(row, {}, {}, 0, mask).status().code();
  };
  EXPECT_EQ(code({1, NAN}), Code::kInternal);
  EXPECT_EQ(code({1, -NAN, 2, 3, 4, 5}), Code::kInternal);
  EXPECT_EQ(code({-kInf, -kInf}), Code::kInternal);
  EXPECT_EQ(code({kInf, 1}), Code::kInternal);
  std::vector<float> row(5000, 1.0f);
  row[4998] = NAN;
  auto sampler = Sampler::make(plain(), 5000);
  EXPECT_NE(sampler->sample(row, {}, {}, 0).status().message().find("token 4998"), std::string::npos);
  EXPECT_EQ(code({1, 2}, std::vector<uint32_t>{0}), Code::kInternal);
  EXPECT_EQ(code({1, 2}, std::vector<uint32_t>{2}), Code::kOk);
  // The next row is as good as ever.
  row[4998] = 9;
  EXPECT_TRUE(sampler->sample(row, {}, {}, 0).ok());
}

TEST(Sampler, RowsAndMasksOfTheWrongSizeAreErrors) {
  auto sampler = Sampler::make(plain(), 40);
  const std::vector<float> row(40, 0.0f);
  const std::vector<uint32_t> mask(1, 1u);
  EXPECT_EQ(sampler->sample(std::span(row).first(39), {}, {}, 0).status().code(), Code::kInternal);
  EXPECT_EQ(sampler->sample(row, {}, {}, 0, mask).status().code(), Code::kInternal);
}

// Fault B131: numbers no request may carry.
TEST(Sampler, ValidateNamesParameterValueAndRange) {
  EXPECT_TRUE(validate(SamplingParams{}, 100).ok());
  const auto with = [](auto set) {
    SamplingParams p;
    set(p);
    return refusal(p);
  };
  EXPECT_EQ(with([](auto& p) { p.top_p = 1.5f; }), "[sampling] top-p must be 0 to 1, got 1.5");
  EXPECT_EQ(with([](auto& p) { p.top_k = -2; }), "[sampling] top-k must be -1 or 0 (off) or more, got -2");
  EXPECT_EQ(with([](auto& p) { p.frequency_penalty = -2.5f; }),
            "[sampling] frequency penalty must be -2 to 2, got -2.5");
  float SamplingParams::*const floats[] = {&SamplingParams::temperature,
                                           &SamplingParams::dynatemp_range,
                                           &SamplingParams::dynatemp_exponent,
                                           &SamplingParams::top_p,
                                           &SamplingParams::min_p,
                                           &SamplingParams::typical_p,
                                           &SamplingParams::top_n_sigma,
                                           &SamplingParams::xtc_probability,
                                           &SamplingParams::xtc_threshold,
                                           &SamplingParams::repetition_penalty,
                                           &SamplingParams::frequency_penalty,
                                           &SamplingParams::presence_penalty,
                                           &SamplingParams::dry_multiplier,
                                           &SamplingParams::dry_base,
                                           &SamplingParams::mirostat_tau,
                                           &SamplingParams::mirostat_eta};
  for (const auto member : floats) {
    for (float value : {-5.0f, 1e30f, kInf, -kInf, NAN})
      EXPECT_NE(with([&](auto& p) { p.*member = value; }), "") << value;
  }
  int32_t SamplingParams::*const ints[] = {
      &SamplingParams::top_k,      &SamplingParams::repeat_last_n,      &SamplingParams::dry_penalty_last_n,
      &SamplingParams::min_tokens, &SamplingParams::dry_allowed_length, &SamplingParams::logprobs};
  for (const auto member : ints) {
    for (int32_t value : {-5, std::numeric_limits<int32_t>::min()})
      EXPECT_NE(with([&](auto& p) { p.*member = value; }), "") << value;
  }
  EXPECT_NE(with([](auto& p) { p.logprobs = 1001; }), "");
  EXPECT_NE(with([](auto& p) { p.allowed_ids = {100}; }), "");
  EXPECT_NE(with([](auto& p) { p.banned_ids = {-1}; }), "");
  EXPECT_NE(with([](auto& p) { p.dry_breakers = {{}}; }), "");
  EXPECT_NE(with([](auto& p) { p.dry_breakers = {{1, 100}}; }), "");
  EXPECT_NE(with([](auto& p) { p.stages.push_back(SamplerStage::kTopK); }), "");
}

TEST(Sampler, LargestIntegersAreWorkable) {
  SamplingParams p = plain();
  p.top_k = p.repeat_last_n = p.dry_penalty_last_n = p.dry_allowed_length = p.min_tokens =
      std::numeric_limits<int32_t>::max();
  p.repetition_penalty = 2;
  p.dry_multiplier = 1;
  EXPECT_GE(sample({1, 2, 3}, p, {{0, 1}, {0, 1}}).id, 0);
}

TEST(Sampler, EndIdsAreBannedUntilMinTokens) {
  SamplingParams p = greedy();
  p.min_tokens = 2;
  p.stop_ids = {1};
  auto sampler = Sampler::make(p, 4, std::vector<int32_t>{0, 99});  // 99: a model file's slip
  const std::vector<float> row = {9, 8, 7, 6};
  const std::vector<int32_t> generated = {3, 3};
  EXPECT_EQ(sampler->sample(row, {}, {}, 0)->id, 2);
  EXPECT_EQ(sampler->sample(row, generated, std::span(generated).first(1), 3)->id, 2);
  EXPECT_EQ(sampler->sample(row, {}, generated, 2)->id, 0);
}

TEST(Sampler, IgnoreEosBansTheModelsEndIdsButNotStopIds) {
  SamplingParams p = greedy();
  p.ignore_eos = true;
  p.stop_ids = {1};
  auto sampler = Sampler::make(p, 4, std::vector<int32_t>{0});
  EXPECT_EQ(sampler->sample(std::vector<float>{9, 8, 7, 6}, {}, {}, 50)->id, 1);
}

TEST(Sampler, BansThatLeaveNothingAreRefused) {
  SamplingParams p;
  p.allowed_ids = {3, 4};
  p.banned_ids = {4, 3};
  EXPECT_NE(refusal(p).find("leave no token"), std::string::npos);
  p.banned_ids = {4};
  EXPECT_EQ(sample({9, 9, 9, 1, 9}, p).id, 3);
}

TEST(Sampler, DryStopsARepeatAndABreakerSavesIt) {
  SamplingParams p = greedy();
  p.dry_multiplier = 1;
  p.dry_base = 2;
  const Text text{{1, 2, 3, 4, 9, 1, 2, 3}, {}};  // 4 would make the repeat 1 2 3 longer
  const std::vector<float> row = {0, 0, 0, 0, 5, 3.5f, 0, 0, 0, 0};
  EXPECT_EQ(sample(row, p, text).id, 5);  // 5 - 2^(3-2) = 3
  p.dry_allowed_length = 3;
  EXPECT_EQ(sample(row, p, text).id, 4);  // 5 - 2^0 = 4
  p.dry_allowed_length = 4;
  EXPECT_EQ(sample(row, p, text).id, 4);
  p.dry_allowed_length = 2;
  p.dry_breakers = {{2}};
  EXPECT_EQ(sample(row, p, text).id, 4);  // only 3 lies behind the breaker
  p.dry_breakers = {{2, 8}, {7}};
  EXPECT_EQ(sample(row, p, text).id, 5);
  p.dry_penalty_last_n = 4;
  EXPECT_EQ(sample(row, p, text).id, 4);  // the earlier 1 2 3 4 is out of the window
}

TEST(Sampler, DryOfAVeryLongRepeatLeavesACandidate) {
  SamplingParams p = greedy();
  p.dry_multiplier = 100;
  p.dry_base = 100;
  p.allowed_ids = {0};
  EXPECT_EQ(sample({1, 0}, p, {std::vector<int32_t>(5000, 0), {}}).id, 0);
}

TEST(Sampler, XtcDropsAllButTheLastOfTheLikelyTokens) {
  SamplingParams p = plain();
  p.xtc_probability = 1;
  p.xtc_threshold = 0.2f;
  // 0.4, 0.3, 0.2+, 0.1-
  const std::vector<float> row = {std::log(0.40f), std::log(0.30f), std::log(0.21f), std::log(0.09f)};
  auto n = counts(row, p, 20000);
  EXPECT_EQ(n.size(), 2u);
  EXPECT_NEAR(n[2] / 20000.0, 0.7, 0.02);
  p.xtc_threshold = 0.51f;
  EXPECT_EQ(counts(row, p, 1000).size(), 4u);
  p.xtc_threshold = 0.35f;  // one such token: nothing to choose between
  EXPECT_EQ(counts(row, p, 1000).size(), 4u);
  p.xtc_threshold = 0.2f;
  p.xtc_probability = 0.5f;
  EXPECT_NEAR(counts(row, p, 20000)[0] / 20000.0, 0.2, 0.02);
}

TEST(Sampler, StateCanBeRolledBack) {
  SamplingParams p = plain();
  p.mirostat = Mirostat::kV2;
  auto sampler = Sampler::make(p, 50);
  std::vector<float> row;
  for (int i = 0; i < 50; ++i) row.push_back(static_cast<float>(i % 13) * 0.4f);
  const auto run = [&](uint64_t from) {
    std::vector<int32_t> ids;
    for (uint64_t i = from; i < from + 30; ++i) ids.push_back(sampler->sample(row, {}, {}, i)->id);
    return ids;
  };
  EXPECT_EQ(sampler->state().mu, 10.0);
  run(0);
  const SamplerState before = sampler->state();
  EXPECT_NE(before.mu, 10.0);
  const auto first = run(30);
  EXPECT_NE(sampler->state().mu, before.mu);
  sampler->restore(before);
  EXPECT_EQ(run(30), first);
}

TEST(Sampler, MirostatHoldsTheSurprise) {
  // A Zipf row of 8.0 bits; the target is lower.
  std::vector<float> row;
  for (int i = 1; i <= 5000; ++i) row.push_back(-1.1f * std::log(static_cast<float>(i)));
  for (const Mirostat version : {Mirostat::kV1, Mirostat::kV2}) {
    SamplingParams p = plain();
    p.mirostat = version;
    p.mirostat_tau = 3;
    auto sampler = Sampler::make(p, 5000);
    double last_mu = sampler->state().mu, surprise = 0;
    constexpr int kTokens = 4000;
    for (uint64_t i = 0; i < kTokens; ++i) {
      ASSERT_TRUE(sampler->sample(row, {}, {}, i).ok());
      surprise += (last_mu - sampler->state().mu) / static_cast<double>(p.mirostat_eta) + 3;
      last_mu = sampler->state().mu;
    }
    EXPECT_NEAR(surprise / kTokens, 3, 0.1);
  }
}

TEST(Sampler, MirostatKeepsOneTokenWhenAllAreTooSurprising) {
  SamplingParams p = plain();
  p.mirostat = Mirostat::kV2;
  p.mirostat_tau = 1;  // mu = 2 bits; each of the equal tokens has 6 or more
  for (size_t n : {64u, 5000u}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      p.seed = seed;
      EXPECT_EQ(sample(std::vector<float>(n, 1.0f), p).id, 0);
    }
  }
}

// Equal logits, all banned but one, one candidate, empty history: nothing may fall over.
TEST(Sampler, DegenerateRowsAreFineWithEverythingOn) {
  for (const Mirostat mirostat : {Mirostat::kOff, Mirostat::kV1, Mirostat::kV2}) {
    SamplingParams p;
    p.mirostat = mirostat;
    p.dynatemp_range = 0.5f;
    p.typical_p = 0.5f;
    p.top_n_sigma = 1;
    p.xtc_probability = 1;
    p.xtc_threshold = 0;
    p.dry_multiplier = 1;
    p.dry_allowed_length = 0;
    p.repetition_penalty = 1.2f;
    p.logprobs = 10;
    for (size_t n : {1u, 2u, 33u, 700u}) {
      EXPECT_GE(sample(std::vector<float>(n, 0.0f), p).id, 0);
      std::vector<float> lonely(n, -kInf);
      lonely[n - 1] = -3;
      EXPECT_EQ(sample(lonely, p, {{0}, {0, 0}}).id, static_cast<int32_t>(n) - 1);
    }
  }
}

}  // namespace
}  // namespace skua
