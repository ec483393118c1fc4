// The float64 backend itself, against numbers worked out by hand: it judges all others, so nothing judges it
// but these, the golden cases and arithmetic done another way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/op_harness.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

using Values = std::vector<double>;

/// Runs a case of one step on `inputs` (by input order, whose ids count from 0) and returns the graph's
/// output.
Values run(CaseBuilder& builder, CaseStep step, const std::vector<Values>& inputs,
           const RefOptions& options = {}) {
  OpCase op_case = builder.take();
  for (size_t i = 0; i < inputs.size(); ++i) step.inputs[static_cast<uint32_t>(i)] = inputs[i];
  op_case.steps = {std::move(step)};
  const auto backend = make_ref_backend(options);
  const auto result = run_case(*backend, op_case, {.slack = 2});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? join(*result, op_case.graph.output) : Values();
}

CaseStep tokens(int32_t n) {
  CaseStep step;
  step.seqs = {{n, n, {0}}};
  return step;
}

HostWeight vector_of(const Values& values) {
  return plain_weight(DType::kF32, 1, static_cast<int64_t>(values.size()), values);
}

void expect_near(const Values& got, const Values& expected, double tolerance = 1e-14) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

TEST(RefOps, EmbedTakesTheRowsOfTheIdsAndScales) {
  CaseBuilder b("embed");
  b.node(Embed{b.weight(plain_weight(DType::kF32, 3, 2, {1, 2, 3, 4, 5, 6})), 0.5f}, {});
  CaseStep step = tokens(3);
  step.ids = {2, 0, 2};
  expect_near(run(b, step, {}), {2.5, 3, 0.5, 1, 2.5, 3});
}

TEST(RefOps, RmsNormDividesByTheRootOfMeanSquarePlusEpsPerGroup) {
  CaseBuilder b("norm");
  const ValueId x = b.input(4);
  b.node(RmsNorm{b.weight(vector_of({1, 2})), 0.5f, 1.0f, 2}, {x});
  const double first = std::sqrt((9.0 + 16.0) / 2 + 0.5);
  const double second = std::sqrt((1.0 + 0.0) / 2 + 0.5);
  expect_near(run(b, tokens(1), {{3, 4, 1, 0}}), {3 / first * 2, 4 / first * 3, 1 / second * 2, 0});
}

TEST(RefOps, AddRmsNormGivesTheSumAndItsNorm) {
  CaseBuilder b("add_norm");
  const ValueId x = b.input(2);
  const ValueId y = b.input(2);
  b.node(AddRmsNorm{{b.weight(vector_of({1, 1})), 0.0f, 0.0f, 1}}, {x, y});
  expect_near(run(b, tokens(1), {{1, 5}, {2, -1}}), {3, 4});  // output 0
}

TEST(RefOps, LinearSumsOverColumnsAndAddsTheBias) {
  constexpr int64_t kCols = 19;  // a tail of every kind
  Values w;
  Values x;
  for (int64_t i = 0; i < 2 * kCols; ++i) {
    w.push_back(static_cast<double>(i % 7) - 3);
    x.push_back(static_cast<double>(i % 5) - 2);
  }
  Values expected;
  for (size_t t = 0; t < 2; ++t) {
    for (size_t n = 0; n < 2; ++n) {
      double sum = n == 0 ? 0.25 : -4;
      for (size_t k = 0; k < kCols; ++k) sum += x[t * kCols + k] * w[n * kCols + k];
      expected.push_back(sum);
    }
  }
  CaseBuilder b("linear");
  const ValueId in = b.input(kCols);
  b.node(Linear{b.weight(plain_weight(DType::kF32, 2, kCols, w)), b.weight(vector_of({0.25, -4}))}, {in});
  expect_near(run(b, tokens(2), {x}), expected);
}

TEST(RefOps, RopeTurnsPairsOfEitherStyleByTheAngle) {
  const double cos = std::cos(2.0);
  const double sin = std::sin(2.0);
  for (RopeStyle style : {RopeStyle::kHalf, RopeStyle::kInterleaved}) {
    CaseBuilder b("rope");
    const ValueId x = b.input(5);
    const ValueId angles = b.node(RopeAngles{{0.5, 0.0}, 1.0}, {});
    b.node(Rope{1, 5, style}, {x, angles});
    CaseStep step = tokens(1);
    step.positions = {4};  // 4 * 0.5 = 2 radians for the first pair, none for the second
    const Values y = run(b, step, {{1, 2, 3, 4, 5}});
    if (style == RopeStyle::kHalf)
      expect_near(y, {cos - 3 * sin, 2, 3 * cos + sin, 4, 5});
    else
      expect_near(y, {cos - 2 * sin, 2 * cos + sin, 3, 4, 5});
  }
}

TEST(RefOps, AnglesAreCosinesThenSinesTimesTheFactor) {
  CaseBuilder b("angles");
  b.node(RopeAngles{{1.0, 0.25}, 2.0}, {});
  CaseStep step = tokens(1);
  step.positions = {8};
  expect_near(run(b, step, {}), {2 * std::cos(8.0), 2 * std::cos(2.0), 2 * std::sin(8.0), 2 * std::sin(2.0)});
}

TEST(RefOps, ActivationsHaveTheirKnownValues) {
  // silu(1) = 0.7310585786300049; gelu(1) = 0.8413447460685429 (erf), 0.8411919906082768 (tanh form).
  const std::pair<Act, Values> known[] = {
      {Act::kSilu, {0.7310585786300049, -0.2689414213699951, 0, 20 / (1 + std::exp(-20.0))}},
      {Act::kGeluErf, {0.8413447460685429, -0.15865525393145707, 0, 20}},
      {Act::kGeluTanh, {0.8411919906082768, -0.15880800939172324, 0, 20}},
      {Act::kRelu, {1, 0, 0, 20}},
  };
  for (const auto& [act, expected] : known) {
    CaseBuilder b("act");
    const ValueId gate = b.input(4);
    const ValueId up = b.input(4);
    b.node(ActMul{act}, {gate, up});
    Values doubled = expected;
    for (double& v : doubled) v *= 2;
    expect_near(run(b, tokens(1), {{1, -1, 0, 20}, {2, 2, 2, 2}}), doubled, 1e-13);
  }
}

TEST(RefOps, GatedLinearIsActOfOneProductTimesTheOther) {
  CaseBuilder b("gated");
  const ValueId x = b.input(2);
  GatedLinear op;
  op.act = Act::kRelu;
  op.gate = {b.weight(plain_weight(DType::kF32, 2, 2, {1, 2, -1, -1})), b.weight(vector_of({0.5, 1}))};
  op.up = {b.weight(plain_weight(DType::kF32, 2, 2, {3, 0, 1, 1})), b.weight(vector_of({-1, 0}))};
  b.node(op, {x});
  expect_near(run(b, tokens(1), {{2, 3}}), {8.5 * 5, 0});
}

TEST(RefOps, MultiLinearKeepsItsPartsApart) {
  CaseBuilder b("multi");
  const ValueId x = b.input(1);
  MultiLinear op;
  op.parts.push_back({b.weight(vector_of({3})), b.weight(vector_of({1}))});
  op.parts.push_back({b.weight(plain_weight(DType::kF32, 2, 1, {5, 7})), {}});
  const ValueId first = b.node(op, {x});
  OpCase op_case = b.take();
  CaseStep step = tokens(2);
  step.inputs[0] = {1, 2};
  op_case.steps = {step};
  const auto result = run_case(*make_ref_backend({}), op_case);
  ASSERT_TRUE(result.ok());
  expect_near(join(*result, first), {4, 7});
  expect_near(join(*result, ValueId(first.value() + 1)), {5, 7, 10, 14});
}

TEST(RefOps, AddScaleAndSoftcap) {
  CaseBuilder add("add");
  add.node(Add{}, {add.input(2), add.input(2)});
  expect_near(run(add, tokens(1), {{1, 2}, {10, 20}}), {11, 22});
  CaseBuilder scale("scale");
  scale.node(Scale{0.25f}, {scale.input(2)});
  expect_near(run(scale, tokens(1), {{4, -2}}), {1, -0.5});
  CaseBuilder softcap("softcap");
  softcap.node(Softcap{50.0f}, {softcap.input(2)});
  expect_near(run(softcap, tokens(1), {{80, -80}}), {46.08342772032357, -46.08342772032357}, 1e-11);
}

TEST(RefOps, ColumnsHaveTheirOwnFactorsAndWideNormWeightsTheirOwnPlaces) {
  CaseBuilder columns("scale_columns");
  columns.node(ScaleColumns{{2, 0.5f}}, {columns.input(2)});
  expect_near(run(columns, tokens(2), {{1, 4, 3, -2}}), {2, 2, 6, -1});
  CaseBuilder norm("rms_norm");
  norm.node(RmsNorm{norm.weight(vector_of({1, 2, 3, 4})), 0.0f, 0.0f, 2}, {norm.input(4)});
  expect_near(run(norm, tokens(1), {{3, 3, -5, 5}}), {1, 2, -3, 4});
}

TEST(RefOps, GatherRowsTakesTheNamedRowsInTheirOrder) {
  CaseBuilder b("gather");
  b.node(GatherRows{}, {b.input(2)});
  CaseStep step = tokens(3);
  step.rows = {2, 0, 2};
  expect_near(run(b, step, {{1, 2, 3, 4, 5, 6}}), {5, 6, 1, 2, 5, 6});
}

/// kv_write and attention with inputs k = 0, v = 1, q = 2.
CaseBuilder attention(int32_t n_heads, int32_t n_kv_heads, int32_t k_dim, int32_t v_dim, float scale) {
  CaseBuilder b("attention");
  const SlotId slot = b.slot({SlotKind::kFull, 0, n_kv_heads, k_dim, v_dim, 0, DType::kBF16});
  for (int32_t width : {n_kv_heads * k_dim, n_kv_heads * v_dim, n_heads * k_dim}) b.input(width);
  b.node(KvWrite{slot}, {ValueId(0), ValueId(1)});
  b.node(Attention{slot, n_heads, scale, 0, 0.0f}, {ValueId(2)});
  return b;
}

TEST(RefOps, AttentionWeighsValuesBySoftmaxAndHeadsShareKvHeadsInOrder) {
  CaseBuilder b = attention(4, 2, 1, 1, 0.5f);
  const Values k = {1, 10, 3, 30};
  const Values v = {100, 7, 200, 8};
  const Values q = {0, 0, 0, 0, 2, -2, 0.2, -0.2};
  const auto mix = [](double score_first, double score_second, double first, double second) {
    const double a = std::exp(score_first);
    const double c = std::exp(score_second);
    return (a * first + c * second) / (a + c);
  };
  expect_near(
      run(b, tokens(2), {k, v, q}),
      {100, 100, 7, 7, mix(1, 3, 100, 200), mix(-1, -3, 100, 200), mix(1, 3, 7, 8), mix(-1, -3, 7, 8)}, 1e-5);
}

TEST(RefOps, PositionScaleStepsWherePositionPlusOffsetReachesAMultipleOfTheStride) {
  CaseBuilder b("position_scale");
  const ValueId x = b.input(1);
  b.node(PositionScale{8, {1.0f, 2.0f, 4.0f}, 1}, {x});
  CaseStep step = tokens(5);
  step.positions = {0, 6, 7, 15, 1000};
  expect_near(run(b, step, {{1, 1, 1, 1, 1}}), {1, 1, 2, 4, 4});
}

TEST(RefOps, AttentionSinkIsAScoreWithoutAValue) {
  CaseBuilder b("sinks");
  const SlotId slot = b.slot({SlotKind::kFull, 0, 1, 1, 1, 0, DType::kF32});
  for (int i = 0; i < 2; ++i) b.input(1);
  b.input(2);
  b.node(KvWrite{slot}, {ValueId(0), ValueId(1)});
  Attention attention{slot, 2, 1.0f};
  attention.sinks = b.weight(vector_of({0.0, 2.0}));
  b.node(attention, {ValueId(2)});
  // Two tokens with k = 1; queries 0 and 1 give scores 0 and 1.
  const double e = std::exp(1.0), sink = std::exp(double{2.0});
  expect_near(run(b, tokens(2), {{1, 1}, {4, 6}, {0, 1, 1, 0}}),
              {4 / 2.0, 4 * e / (e + sink), 10 * e / (2 * e + 1), 10 / (2 + sink)}, 1e-12);
}

TEST(RefOps, AttentionRowWithoutAnyResidentKeyIsZero) {
  CaseBuilder b = attention(1, 1, 2, 2, 1.0f);
  CaseStep step;
  step.seqs = {{2, 2, {-1}}, {0, 0, {}}};
  expect_near(run(b, step, {{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 1, 1, 1}}), {0, 0, 0, 0});
}

TEST(RefOps, CausalConvWeighsTheLastRowsOfEachChannel) {
  CaseBuilder b("conv");
  CacheSlot slot;
  slot.kind = SlotKind::kConv;
  slot.window = slot.row = 2;
  const SlotId id = b.slot(slot);
  const WeightId taps = b.weight(plain_weight(DType::kF32, 2, 2, {1, 2, 10, 20}));
  b.node(CausalConv{id, taps, b.weight(vector_of({0.5, 0})), CausalConv::Then::kNothing}, {b.input(2)});
  expect_near(run(b, tokens(3), {{1, 1, 2, 0, 3, -1}}), {10.5, 20, 21.5, 2, 32.5, -20});
}

/// Two heads of one number, each with a state of two; both share B and C.
CaseBuilder ssm(float dt_max) {
  CaseBuilder b("ssm");
  CacheSlot slot;
  slot.kind = SlotKind::kRecurrent;
  slot.row = 2 + 2 + 2;
  slot.n_blocks = slot.state = 2;
  const SlotId id = b.slot(slot);
  const WeightId a_log = b.weight(vector_of({0, std::log(2.0)})), d = b.weight(vector_of({3, 0}));
  const WeightId dt_bias = b.weight(vector_of({1, 0}));
  const ValueId xbc = b.input(2 + 2 + 2), dt = b.input(2);
  b.node(Ssm2{id, a_log, d, dt_bias, 2, 1, 1, 2, 0.0f, dt_max}, {xbc, dt});
  return b;
}

TEST(RefOps, Ssm2DecaysItsStateAddsTheInputAndReadsIt) {
  CaseBuilder b = ssm(std::numeric_limits<float>::infinity());
  // softplus(0) = log 2: the first head's state halves in a step, the second's is quartered.
  const Values xbc = {1, 10, /*B*/ 1, 0, /*C*/ 1, 5, 2, 0, /*B*/ 0, 1, /*C*/ 1, 1};
  const double l = std::log(2.0);
  expect_near(run(b, tokens(2), {xbc, {-1, 0, -1, 0}}), {l + 3, 10 * l, 0.5 * l + 2 * l + 6, 2.5 * l}, 1e-6);
  b = ssm(0.5f);
  expect_near(run(b, tokens(1), {{1, 10, 1, 0, 1, 5}, {-1, 0}}), {0.5 + 3, 5}, 1e-6);
}

TEST(RefOps, RoundedModeRoundsEdgesAndCacheRowsPureModeDoesNot) {
  const double odd = 1.0 + 0x1p-12;  // bf16 keeps 1, f32 keeps all of it
  const RefOptions rounded{RefRounding::kRounded, {}, 1};
  CaseBuilder b = attention(1, 1, 1, 1, 1.0f);  // a bf16 cache
  EXPECT_EQ(run(b, tokens(1), {{1}, {odd}, {1}}, rounded), Values{1.0});
  b = attention(1, 1, 1, 1, 1.0f);
  EXPECT_EQ(run(b, tokens(1), {{1}, {odd}, {1}}), Values{odd});
  for (const RefOptions& options : {rounded, RefOptions{}}) {
    CaseBuilder add("add");
    add.node(Add{}, {add.input(1), add.input(1)}, DType::kBF16);
    const bool rounds = options.rounding == RefRounding::kRounded;
    EXPECT_EQ(run(add, tokens(1), {{1}, {0x1p-12}}, options), Values{rounds ? 1.0 : odd});
  }
}

TEST(RefOps, FusedOpsRoundBetweenTheirParts) {
  const RefOptions rounded{RefRounding::kRounded, {}, 1};
  CaseBuilder gated("gated");
  const ValueId x = gated.input(1);
  const WeightId one = gated.weight(vector_of({1.0 + 0x1p-12}));
  gated.node(GatedLinear{{one, {}}, {one, {}}, Act::kRelu, DType::kBF16}, {x});
  EXPECT_EQ(run(gated, tokens(1), {{1}}, rounded), Values{1.0});

  CaseBuilder b("rope_kv_write");
  const SlotId slot = b.slot({SlotKind::kFull, 0, 1, 2, 1, 0, DType::kF32});
  for (int32_t width : {2, 1, 2}) b.input(width);
  const ValueId angles = b.node(RopeAngles{{0.0}, 1.0}, {});
  b.node(RopeKvWrite{{1, 2, RopeStyle::kHalf}, {slot}, DType::kBF16}, {ValueId(0), angles, ValueId(1)});
  b.node(Attention{slot, 1, 1.0f, 0, 0.0f}, {ValueId(2)});
  // Both keys round to the same bf16 number, so both weigh the same.
  const Values y = run(b, tokens(2), {{1, 0, 1 + 0x1p-12, 0}, {0, 1}, {0, 0, 4096, 0}}, rounded);
  EXPECT_EQ(y[1], 0.5);
}

TEST(RefOps, GatedDeltaForgetsThenStoresWhatTheKeyDidNotKnow) {
  // One head of 1 x 1: keys and queries become their signs; decay and beta are 1/2.
  CaseBuilder b("gated_delta");
  GatedDelta op;
  op.n_k_heads = op.n_v_heads = op.k_dim = op.v_dim = 1;
  op.norm_eps = 0.0f;
  op.slot = b.slot(delta_slot(op, 0));
  op.a_log = b.weight(vector_of({0}));
  op.dt_bias = b.weight(vector_of({1}));
  b.node(op, {b.input(1), b.input(1), b.input(1), b.input(1), b.input(1)});
  // S = 1/2 * 4 = 2. Then S = 1 - 1 * 1/2 (6 - 1 * -1) = -2.5, read by a negative query.
  expect_near(run(b, tokens(2), {{3, -5}, {2, -1}, {4, 6}, {-1, -1}, {0, 0}}), {2, 2.5});
}

TEST(RefOps, GatedDeltaSharesKeyHeadsAndScalesQueries) {
  CaseBuilder b("gated_delta heads");
  GatedDelta op;
  op.n_k_heads = 1;
  op.n_v_heads = 2;
  op.k_dim = 4;
  op.v_dim = 1;
  op.norm_eps = 11.0f;
  op.slot = b.slot(delta_slot(op, 0));
  op.a_log = b.weight(vector_of({0, 0}));
  op.dt_bias = b.weight(vector_of({0, 0}));
  b.node(op, {b.input(4), b.input(4), b.input(2), b.input(2), b.input(2)});
  // k = (3, 4, 0, 0) / 6; beta = 1/2, 1/4; S = k beta v; q = (5, 0, 0, 0) / 6 / 2.
  expect_near(run(b, tokens(1), {{5, 0, 0, 0}, {3, 4, 0, 0}, {8, 8}, {0, 0}, {0, -std::log(3.0)}}),
              {0.5 * 4 * 5 / 12, 0.5 * 2 * 5 / 12}, 1e-7);  // log 3 is rounded to float32
}

TEST(RefOps, Ssm1DecaysEveryNumberOfAChannelByItself) {
  CaseBuilder b("ssm1");
  Ssm1 op;
  op.slot = b.slot(ssm1_slot(1, 2, 0));
  op.a_log = b.weight(plain_weight(DType::kF32, 2, 1, {0, -1}));
  op.dt_bias = b.weight(vector_of({0.5}));
  op.d = b.weight(vector_of({3}));
  b.node(op, {b.input(1), b.input(1), b.input(2), b.input(2)});
  // dt = log 2 = l; decays are 1/2 and e^(-l/e): h = (l, 2l), then (l/2 + 2l, 2l e^(-l/e)).
  const double l = std::log(2.0);
  expect_near(run(b, tokens(2), {{1, 2}, {-0.5, -0.5}, {1, 2, 1, 0}, {3, 1, 1, 1}}),
              {5 * l + 3, 2.5 * l + 2 * l * std::exp(-l / std::exp(1.0)) + 6});
}

}  // namespace
}  // namespace skua::test
