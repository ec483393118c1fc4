// Latent attention that may decompress: which arithmetic a sequence gets is decided by its own tokens in the
// step, and the two are each what they are alone.
#include <gtest/gtest.h>

#include "backend/backends.h"
#include "backend/cases.h"
#include "backend/float64_judge.h"
#include "backend/op_bounds.h"
#include "backend/op_harness.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

constexpr int32_t kMixed = 16, kAlways = 1, kNever = 1 << 20;

class MlaFast : public testing::TestWithParam<BackendUnderTest> {};

std::vector<StepValues> run_ok(Backend& backend, const OpCase& op_case, const HarnessOptions& options = {}) {
  auto result = run_case(backend, op_case, options);
  EXPECT_TRUE(result.ok()) << op_case.name << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : std::vector<StepValues>(op_case.steps.size());
}

TEST_P(MlaFast, StaysWithinTheBoundOfFloat64InMixedSteps) {
  const auto exact_backend = make_ref_backend({});
  const auto backend = GetParam().make(2);
  for (const OpCase& op_case : mla_fast_cases(kMixed)) {
    const auto exact = run_ok(*exact_backend, op_case), got = run_ok(*backend, op_case, {.slack = 3});
    if (HasFailure()) return;
    const ValueId y = op_case.graph.nodes.back().outputs[0];
    const Verdict verdict =
        judge(join(got, y), join(exact, y), slack_of(op_case, exact, y, 0x1p-24), DType::kF32);
    EXPECT_TRUE(verdict.pass()) << op_case.name << ": " << verdict.text();
  }
}

TEST_P(MlaFast, EachSequenceOfAMixedStepHasTheBytesOfItsOwnArithmetic) {
  const auto backend = GetParam().make(2);
  const std::vector<OpCase> mixed = mla_fast_cases(kMixed), always = mla_fast_cases(kAlways),
                            never = mla_fast_cases(kNever);
  int n_long = 0, n_short = 0, n_apart = 0;
  for (size_t i = 0; i < mixed.size(); ++i) {
    const auto got = run_ok(*backend, mixed[i]), decompressed = run_ok(*backend, always[i]),
               absorbed = run_ok(*backend, never[i]);
    if (HasFailure()) return;
    const ValueId y = mixed[i].graph.nodes.back().outputs[0];
    const auto width = static_cast<size_t>(mixed[i].graph.value(y).type.width);
    for (size_t step = 0; step < got.size(); ++step) {
      size_t at = 0;
      for (const CaseSeq& seq : mixed[i].steps[step].seqs) {
        const bool is_long = seq.q_len >= kMixed;
        const size_t end = at + static_cast<size_t>(seq.q_len) * width;
        const auto part = [&](const std::vector<StepValues>& values) {
          const std::vector<double>& all = values[step].at(y.value());
          return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(at),
                                     all.begin() + static_cast<std::ptrdiff_t>(end));
        };
        EXPECT_EQ(first_difference(part(got), part(is_long ? decompressed : absorbed)), -1)
            << mixed[i].name << ", step " << step << ", " << seq.q_len << " tokens";
        if (part(decompressed) != part(absorbed)) ++n_apart;
        if (seq.q_len > 0) ++(is_long ? n_long : n_short);
        at = end;
      }
    }
  }
  EXPECT_GT(n_long, 10);
  EXPECT_GT(n_short, 10);
  if (backend->name() != "ref") {
    EXPECT_GT(n_apart, 10);  // else this test could not tell them apart
  }
}

INSTANTIATE_TEST_SUITE_P(All, MlaFast, testing::ValuesIn(backends_under_test()),
                         [](const testing::TestParamInfo<BackendUnderTest>& param) {
                           return param.param.name;
                         });

}  // namespace
}  // namespace skua::test
