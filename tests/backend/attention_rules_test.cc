// Attention rules that other engines got wrong, checked by numbers that can be worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/backends.h"
#include "backend/op_harness.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

/// One head, one dimension: q, k and v are numbers per token, given by functions of the position.
struct Line {
  int32_t window = 0;
  float softcap = 0.0f;
  int32_t own_chunk = 0;  // Attention::chunk
  std::optional<double> sink = {};
  std::vector<int32_t> chunks;
  double (*q)(int32_t) = [](int32_t) { return 0.0; };
  double (*k)(int32_t) = [](int32_t) { return 0.0; };
  double (*v)(int32_t) = [](int32_t) { return 0.0; };
};

/// Attention output by position.
std::vector<double> attend(Backend& backend, const Line& line) {
  CaseBuilder b("line");
  const int32_t kept = std::max(line.window, line.own_chunk);
  const SlotId slot = b.slot({kept > 0 ? SlotKind::kWindow : SlotKind::kFull, 0, 1, 1, 1, kept, DType::kF32});
  for (int i = 0; i < 3; ++i) b.input(1);
  b.node(KvWrite{slot}, {ValueId(0), ValueId(1)});
  Attention attention{slot, 1, 1.0f, line.window, line.softcap, line.own_chunk};
  if (line.sink) attention.sinks = b.weight(plain_weight(DType::kF32, 1, 1, {*line.sink}));
  const ValueId out = b.node(attention, {ValueId(2)});
  int32_t position = 0;
  std::vector<int32_t> pages;
  for (int32_t page = 0; page < 16; ++page) pages.push_back(page);
  for (int32_t length : line.chunks) {
    CaseStep& step = b.step({{length, position + length, pages}}, 1);
    for (int32_t i = 0; i < length; ++i, ++position) {
      const auto at = static_cast<size_t>(i);
      step.inputs[0][at] = line.k(position);
      step.inputs[1][at] = line.v(position);
      step.inputs[2][at] = line.q(position);
    }
  }
  const auto result = run_case(backend, b.take());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? join(*result, out) : std::vector<double>(static_cast<size_t>(position));
}

class AttentionRules : public testing::TestWithParam<BackendUnderTest> {
 protected:
  std::unique_ptr<Backend> backend_ = GetParam().make(1);
};

// B070
TEST_P(AttentionRules, WindowOf128AtPosition500SeesKeys373To500) {
  for (const std::vector<int32_t>& chunks : {std::vector<int32_t>{501}, {500, 1}}) {
    Line line{.window = 128, .chunks = chunks};
    line.v = [](int32_t p) { return p == 372 ? 1.0 : 0.0; };
    EXPECT_EQ(attend(*backend_, line)[500], 0.0);
    line.v = [](int32_t p) { return p == 373 ? 1.0 : 0.0; };
    EXPECT_NEAR(attend(*backend_, line)[500], 1.0 / 128, 1e-8);
    line.v = [](int32_t p) { return p == 500 ? 1.0 : 0.0; };
    EXPECT_NEAR(attend(*backend_, line)[500], 1.0 / 128, 1e-8);
    EXPECT_EQ(attend(*backend_, line)[499], 0.0);
    line.v = [](int32_t) { return 1.0; };
    EXPECT_NEAR(attend(*backend_, line)[500], 1.0, 1e-6);
  }
}

// B071
TEST_P(AttentionRules, WindowOf8KeepsAllEightAndDropsTheFirstAtTheNinth) {
  Line line{.window = 8, .chunks = {6, 1, 1, 1}};
  line.v = [](int32_t p) { return p == 0 ? 1.0 : 0.0; };
  const std::vector<double> y = attend(*backend_, line);
  EXPECT_NEAR(y[5], 1.0 / 6, 1e-7);
  EXPECT_NEAR(y[6], 1.0 / 7, 1e-7);
  EXPECT_NEAR(y[7], 1.0 / 8, 1e-7);
  EXPECT_EQ(y[8], 0.0);
}

// B073
TEST_P(AttentionRules, SoftcapActsOnTheScaledScoreInPromptAndDecode) {
  const double capped = 50.0 * std::tanh(80.0 / 50.0);
  EXPECT_NEAR(capped, 46.08, 0.005);
  const double weight = 1.0 / (1.0 + std::exp(50.0 * std::tanh(76.0 / 50.0) - capped));
  for (const std::vector<int32_t>& chunks : {std::vector<int32_t>{2}, {1, 1}}) {
    Line line{.softcap = 50.0f, .chunks = chunks};
    line.q = [](int32_t) { return 1.0; };
    line.k = [](int32_t p) { return p == 0 ? 80.0 : 76.0; };
    line.v = [](int32_t p) { return p == 0 ? 1.0 : 0.0; };
    EXPECT_NEAR(attend(*backend_, line)[1], weight, 1e-5);
    line.softcap = 0.0f;
    EXPECT_NEAR(attend(*backend_, line)[1], 1.0 / (1.0 + std::exp(-4.0)), 1e-6);
  }
}

TEST_P(AttentionRules, ChunkOf16StartsAnewAtEveryMultipleOf16) {
  for (const std::vector<int32_t>& chunks : {std::vector<int32_t>{33}, {15, 2, 15, 1}, {32, 1}}) {
    Line line{.own_chunk = 16, .chunks = chunks};
    line.v = [](int32_t p) { return p == 15 || p == 16 ? 1.0 : 0.0; };
    const std::vector<double> y = attend(*backend_, line);
    EXPECT_EQ(y[14], 0.0);
    EXPECT_NEAR(y[15], 1.0 / 16, 1e-7);
    EXPECT_EQ(y[16], 1.0);  // sees itself alone
    EXPECT_NEAR(y[17], 1.0 / 2, 1e-7);
    EXPECT_NEAR(y[31], 1.0 / 16, 1e-7);
    EXPECT_EQ(y[32], 0.0);
  }
}

TEST_P(AttentionRules, ChunkAndWindowTogetherGiveTheNearerBorder) {
  Line line{.window = 4, .own_chunk = 16, .chunks = {20}};
  line.v = [](int32_t p) { return static_cast<double>(p); };
  const std::vector<double> y = attend(*backend_, line);
  EXPECT_NEAR(y[15], 13.5, 1e-5);  // 12 .. 15
  EXPECT_NEAR(y[17], 16.5, 1e-5);  // 16, 17: the chunk is nearer
  EXPECT_NEAR(y[19], 17.5, 1e-5);  // 16 .. 19
}

TEST_P(AttentionRules, SinkTakesWeightNeitherScaledNorCapped) {
  const double sink = std::log(3.0);  // weighs as much as three keys of score 0
  for (const std::vector<int32_t>& chunks : {std::vector<int32_t>{300}, {290, 9, 1}}) {
    Line line{.softcap = 0.5f, .sink = sink, .chunks = chunks};
    line.v = [](int32_t) { return 1.0; };
    const std::vector<double> y = attend(*backend_, line);
    for (const size_t p : {size_t{0}, size_t{1}, size_t{63}, size_t{256}, size_t{299}}) {
      const double keys = static_cast<double>(p) + 1;
      EXPECT_NEAR(y[p], keys / (keys + 3), 1e-6) << p;
    }
  }
}

TEST_P(AttentionRules, SinkFarAboveOrBelowNeitherOverflowsNorVanishes) {
  Line line{.sink = 500.0, .chunks = {3}};
  line.v = [](int32_t) { return 1.0; };
  EXPECT_NEAR(attend(*backend_, line)[2], 0.0, 1e-30);
  line.sink = -500.0;
  EXPECT_NEAR(attend(*backend_, line)[2], 1.0, 1e-7);
  line.q = line.k = [](int32_t) { return 30.0; };  // scores of 900 against a sink of 900
  line.sink = 900.0;
  EXPECT_NEAR(attend(*backend_, line)[2], 3.0 / 4.0, 1e-4);
}

TEST_P(AttentionRules, ScoresFarApartNeitherOverflowNorVanish) {
  Line line{.chunks = {3}};
  line.q = [](int32_t) { return 1000.0; };
  line.k = [](int32_t p) { return p == 1 ? 1000.0 : -1000.0; };
  line.v = [](int32_t p) { return static_cast<double>(p); };
  EXPECT_EQ(attend(*backend_, line), (std::vector<double>{0.0, 1.0, 1.0}));
}

// B076
TEST_P(AttentionRules, RowWithoutAnyResidentKeyIsZeroAndNeighboursDoNotNotice) {
  CaseBuilder b("no key");
  const SlotId slot = b.slot({SlotKind::kFull, 0, 1, 1, 1, 0, DType::kF32});
  for (int i = 0; i < 3; ++i) b.input(1);
  b.node(KvWrite{slot}, {ValueId(0), ValueId(1)});
  const ValueId out = b.node(Attention{slot, 1, 1.0f, 0, 0.0f}, {ValueId(2)});
  CaseStep& step = b.step({{1, 1, {0}}, {2, 2, {-1}}, {0, 0, {}}, {1, 1, {1}}}, 1);
  step.inputs[1] = {3, 4, 5, 6};
  const auto result = run_case(*backend_, b.take(), {.slack = 5});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(join(*result, out), (std::vector<double>{3, 0, 0, 6}));
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionRules, testing::ValuesIn([] {
      std::vector<BackendUnderTest> all = backends_under_test();
      all.push_back({"ref_pure", [](int n) { return make_ref_backend({.n_threads = n}); }});
      return all;
    }()),
    [](const testing::TestParamInfo<BackendUnderTest>& param) { return param.param.name; });

}  // namespace
}  // namespace skua::test
