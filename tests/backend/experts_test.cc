// Routers and experts on every backend, against faults of other engines (BUGS.md) and against reading more
// than the chosen experts.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "backend/backends.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/op_harness.h"

namespace skua::test {
namespace {

using Values = std::vector<double>;

class Experts : public testing::TestWithParam<BackendUnderTest> {};

/// Mixing weights of one token whose logits are `logits`.
Values route(Backend& backend, const Values& logits, const Values& selection_bias, MoeRouter op) {
  CaseBuilder b("route");
  const auto n = static_cast<int64_t>(logits.size());
  const ValueId x = b.input(1);
  op.weight = b.weight(plain_weight(DType::kF32, n, 1, logits));
  if (!selection_bias.empty()) op.selection_bias = b.weight(plain_weight(DType::kF32, 1, n, selection_bias));
  b.node(op, {x});
  b.step(1, 1).inputs[x.value()] = {1.0};
  const OpCase op_case = b.take();
  const auto result = run_case(backend, op_case, {.slack = 2});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? join(*result, op_case.graph.output) : Values(logits.size());
}

double logit(double probability) { return std::log(probability / (1 - probability)); }

void expect_close(const Values& got, const Values& expected, double relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], relative * expected[i]) << "expert " << i;
}

// Fault B064: the weight is the score of the logit itself; (score + bias) - bias would cancel to zero.
TEST_P(Experts, B064TinyScoresSurviveALargeSelectionBias) {
  const Values weights = route(*GetParam().make(1), {-17.0, 3.0, 2.0}, {12.0, 0.0, 0.0},
                               {.score = RouterScore::kSigmoid, .top_k = 1});
  expect_close(weights, {4.1399375473943306e-08, 0.0, 0.0}, 1e-6);
}

// Fault B065: the selection bias chooses and does not weigh; a sigmoid is no softmax.
TEST_P(Experts, B065TheSelectionBiasStaysOutOfTheMixingWeights) {
  const Values logits = {logit(0.9), logit(0.8), logit(0.7), logit(0.1)};
  MoeRouter op{.score = RouterScore::kSigmoid, .top_k = 2};
  op.normalize = MoeRouter::Normalize::kYes;
  op.scale = 2.5f;
  expect_close(route(*GetParam().make(1), logits, {0.0, 0.0, 0.5, 0.0}, op),
               {2.5 * 0.5625, 0.0, 2.5 * 0.4375, 0.0}, 1e-6);
}

// Fault B067: without normalisation the weights are those of the softmax over all experts.
TEST_P(Experts, B067NormalisesTheChosenOnlyIfAsked) {
  const auto backend = GetParam().make(1);
  MoeRouter op{.top_k = 2};
  expect_close(route(*backend, {2.0, 1.0, 0.5, -1.0}, {}, op),
               {0.6094600375988771, 0.22420781804820114, 0.0, 0.0}, 1e-6);
  op.normalize = MoeRouter::Normalize::kYes;
  expect_close(route(*backend, {2.0, 1.0, 0.5, -1.0}, {}, op),
               {0.7310585786300049, 0.2689414213699951, 0.0, 0.0}, 1e-6);
}

constexpr int32_t kExperts = 7;

struct Layer {
  OpCase op_case;
  std::vector<int64_t> rows;  // of one expert, by WeightId
  ValueId x, routing;
};

/// Experts whose routing is still to be set.
Layer layer(const Format& format, int32_t n_tokens) {
  CaseBuilder b("experts " + format_name(format));
  Layer out;
  const int64_t d = std::max<int64_t>(block_cols(format), 32), d_ff = 2 * d;
  out.x = b.input(d);
  out.routing = b.input(kExperts);
  MoeExperts op;
  op.gate = b.weight(random_weight(format, kExperts * d_ff, d, 0.5, 11));
  op.up = b.weight(random_weight(format, kExperts * d_ff, d, 0.5, 12));
  op.down = b.weight(random_weight(format, kExperts * d, d_ff, 0.5, 13));
  op.n_experts = kExperts;
  op.top_k = 2;
  out.rows = {d_ff, d_ff, d};
  b.node(op, {out.x, out.routing});
  b.step(n_tokens, 14);
  out.op_case = b.take();
  return out;
}

/// The layer's weights with other rows for the experts of `changed`.
std::vector<HostWeight> decoys_of(const Layer& layer, const std::set<int64_t>& changed) {
  std::vector<HostWeight> out;
  for (size_t w = 0; w < layer.rows.size(); ++w) {
    const HostWeight& weight = layer.op_case.weights[w];
    HostWeight decoy = random_weight(weight.format, weight.rows, weight.cols, 0.5, 99 + w);
    for (size_t p = 0; p < 3; ++p) {
      const size_t bytes = weight.planes[p].size() / kExperts;  // of one expert
      for (int64_t e = 0; e < kExperts; ++e) {
        if (changed.contains(e)) continue;
        const auto at = static_cast<std::ptrdiff_t>(static_cast<size_t>(e) * bytes);
        std::copy_n(weight.planes[p].begin() + at, bytes, decoy.planes[p].begin() + at);
      }
    }
    out.push_back(std::move(decoy));
  }
  return out;
}

/// Sends token t to the experts chosen[t]; the others must be those that nobody chose.
std::set<int64_t> set_routing(Layer& layer, const std::vector<std::vector<int64_t>>& chosen) {
  Values& routing = layer.op_case.steps[0].inputs[layer.routing.value()];
  routing.assign(chosen.size() * kExperts, 0.0);
  std::set<int64_t> unused{0, 1, 2, 3, 4, 5, 6};
  for (size_t t = 0; t < chosen.size(); ++t) {
    for (const int64_t e : chosen[t]) {
      routing[t * kExperts + static_cast<size_t>(e)] = 0.25 + 0.125 * static_cast<double>(e);
      unused.erase(e);
    }
  }
  return unused;
}

const std::vector<std::vector<int64_t>> kRoutings[] = {
    {{1, 5}},                                   // decode
    {{6}},                                      // fewer than top_k
    {{0, 2}, {2, 3}, {0, 3}},                   // a batch of decodes
    std::vector<std::vector<int64_t>>(40, {4})  // a prefill, all to one
};

void expect_only_the_chosen_are_read(Backend& backend, const Format& format) {
  for (const auto& chosen : kRoutings) {
    Layer l = layer(format, static_cast<int32_t>(chosen.size()));
    const std::set<int64_t> unused = set_routing(l, chosen);
    const auto clean = run_case(backend, l.op_case);
    const std::vector<HostWeight> decoys = decoys_of(l, unused);
    const auto poisoned = run_case(backend, l.op_case, {.decoys = decoys});
    ASSERT_TRUE(clean.ok() && poisoned.ok()) << clean.status().message() << poisoned.status().message();
    const Values y = join(*clean, l.op_case.graph.output);
    for (const double v : y) ASSERT_TRUE(std::isfinite(v));
    EXPECT_EQ(first_difference(y, join(*poisoned, l.op_case.graph.output)), -1)
        << format_name(format) << ", " << chosen.size() << " tokens: an expert that nobody chose was read";
    // The poison works: in a chosen expert it shows.
    const std::vector<HostWeight> bad = decoys_of(l, {chosen[0][0]});
    const auto spoiled = run_case(backend, l.op_case, {.decoys = bad});
    ASSERT_TRUE(spoiled.ok()) << spoiled.status().message();
    EXPECT_TRUE(std::isnan(join(*spoiled, l.op_case.graph.output)[0])) << format_name(format);
  }
}

TEST_P(Experts, OnlyTheChosenAreRead) {
  const auto backend = GetParam().make(2);
  for (const Format& format : {Format{FormatKind::kF32}, Format{FormatKind::kBF16}, Format{FormatKind::kQ8_0},
                               Format{FormatKind::kQ6_K}, Format{FormatKind::kAffine, 4, 32, DType::kBF16},
                               Format{FormatKind::kQ4_K}, Format{FormatKind::kMxfp4}})
    expect_only_the_chosen_are_read(*backend, format);
}

/// All backends, and the CPU with rounded activations.
std::vector<BackendUnderTest> with_native() {
  std::vector<BackendUnderTest> out = backends_under_test();
  out.push_back({"cpu_native", [](int n_threads) {
                   CpuOptions options;
                   options.n_threads = n_threads;
                   options.compute = CpuCompute::kNative;
                   return std::move(make_cpu_backend(options)).value();
                 }});
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, Experts, testing::ValuesIn(with_native()),
                         [](const testing::TestParamInfo<BackendUnderTest>& param) {
                           return param.param.name;
                         });

}  // namespace
}  // namespace skua::test
