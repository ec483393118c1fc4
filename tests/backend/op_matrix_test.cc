// Every op on every backend: judged per element against float64, and the same bytes whatever the batch, the
// padding, the threads, the place of the pages and the contents of unwritten cache rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backends.h"
#include "backend/cases.h"
#include "backend/float64_judge.h"
#include "backend/op_bounds.h"
#include "backend/op_harness.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

constexpr double kU32 = 0x1p-24;

std::vector<ValueId> outputs_of(const OpCase& op_case) {
  std::vector<ValueId> out;
  for (const Node& node : op_case.graph.nodes)
    out.insert(out.end(), node.outputs.begin(), node.outputs.end());
  return out;
}

std::vector<StepValues> run_ok(Backend& backend, const OpCase& op_case, const HarnessOptions& options = {}) {
  auto result = run_case(backend, op_case, options);
  EXPECT_TRUE(result.ok()) << op_case.name << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : std::vector<StepValues>(op_case.steps.size());
}

void expect_same_bytes(const OpCase& op_case, const std::vector<StepValues>& a,
                       const std::vector<StepValues>& b, const char* what) {
  for (ValueId id : outputs_of(op_case)) {
    EXPECT_EQ(first_difference(join(a, id), join(b, id)), -1) << op_case.name << ", " << what;
  }
}

struct Table {
  std::string name;
  std::vector<OpCase> (*cases)();
};

void PrintTo(const Table& table, std::ostream* out) { *out << table.name; }

using Param = std::tuple<BackendUnderTest, Table>;

class OpMatrix : public testing::TestWithParam<Param> {
 protected:
  std::unique_ptr<Backend> make(int n_threads = 1) const { return std::get<0>(GetParam()).make(n_threads); }
  std::vector<OpCase> cases() const { return std::get<1>(GetParam()).cases(); }
};

/// True if the cache rounds what it keeps: then the exact answer is that of the rounded keys and values.
bool rounds_its_cache(const OpCase& op_case) {
  return std::any_of(op_case.graph.slots.begin(), op_case.graph.slots.end(),
                     [](const CacheSlot& slot) { return slot.storage != DType::kF32; });
}

TEST_P(OpMatrix, StaysWithinTheBoundOfFloat64) {
  const auto exact_backend = make_ref_backend({});
  const auto rounding_backend = make_ref_backend({.rounding = RefRounding::kRounded});
  const auto backend = make();
  double worst = 0;
  std::string worst_case;
  for (const OpCase& op_case : cases()) {
    const std::vector<StepValues> exact =
        run_ok(rounds_its_cache(op_case) ? *rounding_backend : *exact_backend, op_case);
    const std::vector<StepValues> got = run_ok(*backend, op_case);
    if (HasFailure()) return;
    for (ValueId id : outputs_of(op_case)) {
      const Verdict verdict = judge(join(got, id), join(exact, id), slack_of(op_case, exact, id, kU32),
                                    op_case.graph.value(id).type.storage);
      EXPECT_TRUE(verdict.pass()) << op_case.name << ": " << verdict.text();
      if (verdict.max_ratio > worst) {
        worst = verdict.max_ratio;
        worst_case = op_case.name;
      }
    }
  }
  std::printf("  worst error/bound %.3f: %s\n", worst, worst_case.c_str());
}

// B077
TEST_P(OpMatrix, GivesTheSameBytesTwiceAndPaddedAndThreaded) {
  const auto one_thread = make(1);
  const auto two_threads = make(2);
  for (const OpCase& op_case : cases()) {
    const std::vector<StepValues> first = run_ok(*one_thread, op_case);
    if (HasFailure()) return;
    expect_same_bytes(op_case, first, run_ok(*one_thread, op_case), "run twice");
    expect_same_bytes(op_case, first, run_ok(*two_threads, op_case), "two threads");
    expect_same_bytes(op_case, first, run_ok(*one_thread, op_case, {.slack = 3}), "padded capacity");
    expect_same_bytes(op_case, first, run_ok(*two_threads, op_case, {.slack = 17}),
                      "padded capacity, two threads");
  }
}

TEST_P(OpMatrix, GivesTheSameBytesOneTokenAtATime) {
  const auto backend = make();
  for (const OpCase& op_case : cases()) {
    if (!op_case.steps[0].rows.empty() || op_case.graph.value(op_case.graph.output).type.lead == Lead::kRows)
      continue;
    const std::vector<StepValues> whole = run_ok(*backend, op_case);
    const std::vector<StepValues> cut = run_ok(*backend, one_token_at_a_time(op_case));
    if (HasFailure()) return;
    expect_same_bytes(op_case, whole, cut, "one token at a time");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OpMatrix,
    testing::Combine(testing::ValuesIn(backends_under_test()),
                     testing::Values(Table{"linear", linear_cases}, Table{"rows", row_cases},
                                     Table{"rope", rope_cases}, Table{"attention", attention_cases},
                                     Table{"moe", moe_cases}, Table{"mla", mla_cases},
                                     Table{"mla_fast", mla_fast_cases}, Table{"scan", scan_cases})),
    [](const testing::TestParamInfo<Param>& param) {
      return std::get<0>(param.param).name + "_" + std::get<1>(param.param).name;
    });

class EachBackend : public testing::TestWithParam<BackendUnderTest> {};

// B074
TEST_P(EachBackend, UnwrittenCacheRowsAndPagePlacesCannotShow) {
  const auto backend = GetParam().make(2);
  std::vector<OpCase> cases = attention_cases();
  for (OpCase& op_case : scan_cases()) cases.push_back(std::move(op_case));
  for (OpCase& op_case : mla_cases()) {
    if (!op_case.graph.slots.empty()) cases.push_back(std::move(op_case));
  }
  for (OpCase& op_case : mla_fast_cases()) cases.push_back(std::move(op_case));
  for (const OpCase& op_case : cases) {
    const std::vector<StepValues> nan_filled = run_ok(*backend, op_case);
    if (HasFailure()) return;
    expect_same_bytes(op_case, nan_filled, run_ok(*backend, op_case, {.cache_fill = std::byte{0}}),
                      "zero-filled cache");
    expect_same_bytes(op_case, nan_filled, run_ok(*backend, op_case, {.reverse_pages = true}),
                      "pages elsewhere");
  }
}

TEST_P(EachBackend, RoutesMoreThan65535Pairs) {
  const auto exact_backend = make_ref_backend({});
  const auto backend = GetParam().make(2);
  const OpCase op_case = many_pairs_case();
  const std::vector<StepValues> exact = run_ok(*exact_backend, op_case), got = run_ok(*backend, op_case);
  if (HasFailure()) return;
  const ValueId y = op_case.graph.nodes[0].outputs[0];
  const Verdict verdict = judge(join(got, y), join(exact, y), slack_of(op_case, exact, y, kU32), DType::kF32);
  EXPECT_TRUE(verdict.pass()) << verdict.text();
}

TEST_P(EachBackend, FusedOpsEqualTheirPartsAsBytes) {
  const auto backend = GetParam().make(2);
  for (const FusedPair& pair : fused_pairs()) {
    const std::vector<StepValues> parts = run_ok(*backend, pair.parts);
    const std::vector<StepValues> fused = run_ok(*backend, pair.fused);
    if (HasFailure()) return;
    for (const auto& [a, b] : pair.same) {
      EXPECT_EQ(first_difference(join(parts, a), join(fused, b)), -1)
          << pair.fused.name << " "
          << format_name(pair.fused.weights.empty() ? Format{} : pair.fused.weights[0].format);
    }
  }
}

TEST_P(EachBackend, RefusesWeightsWithNanOrInfinity) {
  const auto backend = GetParam().make(1);
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      std::vector<double> values(6 * 40, 0.5);
      values[5 * 40 + 39] = bad;
      const HostWeight weight = plain_weight(type, 6, 40, values);
      const auto packed = backend->pack(weight.view(), "layers.3.q");
      ASSERT_FALSE(packed.ok());
      EXPECT_EQ(packed.status().code(), Code::kDataLoss);
      EXPECT_NE(packed.status().message().find("layers.3.q"), std::string::npos) << packed.status().message();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachBackend, testing::ValuesIn(backends_under_test()),
                         [](const testing::TestParamInfo<BackendUnderTest>& param) {
                           return param.param.name;
                         });

}  // namespace
}  // namespace skua::test
