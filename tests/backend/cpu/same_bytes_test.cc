// The CPU backend gives the same bytes on AVX2 and AVX-512, with 1, 2 and 3 threads, at any number of rows
// and however a long context is cut.
#include <gtest/gtest.h>

#include "backend/cases.h"
#include "backend/cpu/cpu_cases.h"
#include "backend/float64_judge.h"
#include "backend/op_bounds.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

/// The first `n` rows of a one-step case.
OpCase first_rows(const OpCase& whole, int32_t n) {
  OpCase out = whole;
  CaseStep& step = out.steps[0];
  step.seqs = {{n, n, {}}};
  for (auto& [id, values] : step.inputs) {
    values.resize(static_cast<size_t>(n * whole.graph.values[id].type.width));
  }
  return out;
}

/// A one-sequence case whose tokens all come in one step, cut into chunks of the given lengths.
OpCase cut_into(const OpCase& whole, const std::vector<int32_t>& lengths) {
  OpCase out = whole;
  out.steps.clear();
  int32_t done = 0;
  for (const int32_t length : lengths) {
    CaseStep step = whole.steps[0];
    step.seqs[0].q_len = length;
    step.seqs[0].kv_len = done + length;
    for (auto& [id, values] : step.inputs) {
      const int64_t width = whole.graph.values[id].type.width;
      const auto begin = values.begin() + done * width;
      values = std::vector<double>(begin, begin + length * width);
    }
    done += length;
    out.steps.push_back(std::move(step));
  }
  return out;
}

class CpuSameBytes : public testing::TestWithParam<CpuCompute> {
 protected:
  static std::unique_ptr<Backend> make(CpuIsa isa, int n_threads) {
    return cpu_backend(isa, n_threads, GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Compute, CpuSameBytes, testing::Values(CpuCompute::kF32, CpuCompute::kNative),
                         [](const testing::TestParamInfo<CpuCompute>& param) {
                           return param.param == CpuCompute::kF32 ? "f32" : "native";
                         });

TEST_P(CpuSameBytes, AvxTwoEqualsAvx512OnTheWholeMatrix) {
  if (isas_here().size() < 2) GTEST_SKIP() << "needs a processor with AVX-512";
  const auto narrow = make(CpuIsa::kAvx2, 1), wide = make(CpuIsa::kAvx512, 1);
  for (const OpCase& op_case : matrix_cases()) {
    expect_same(op_case, run_on(*narrow, op_case), run_on(*wide, op_case), "avx2 against avx512");
  }
}

TEST_P(CpuSameBytes, PaddingThreadsAndSingleTokensDoNotShow) {
  const auto one = make(CpuIsa::kAuto, 1), three = make(CpuIsa::kAuto, 3);
  for (const OpCase& op_case : matrix_cases()) {
    const std::vector<StepValues> expected = run_on(*one, op_case);
    expect_same(op_case, expected, run_on(*three, op_case, {.slack = 17}), "three threads, padded");
    if (op_case.graph.value(op_case.graph.output).type.lead == Lead::kRows ||
        !op_case.steps[0].rows.empty()) {
      continue;
    }
    expect_same(op_case, expected, run_on(*one, one_token_at_a_time(op_case)), "one token at a time");
  }
}

TEST_P(CpuSameBytes, FusedOpsEqualTheirParts) {
  const auto backend = make(CpuIsa::kAuto, 2);
  for (const FusedPair& pair : fused_pairs()) {
    const std::vector<StepValues> parts = run_on(*backend, pair.parts), fused = run_on(*backend, pair.fused);
    ASSERT_FALSE(HasFailure());
    for (const auto& [a, b] : pair.same) {
      EXPECT_EQ(first_difference(join(parts, a), join(fused, b)), -1) << pair.fused.name;
    }
  }
}

TEST_P(CpuSameBytes, AnyNumberOfRowsThreadsAndInstructionSetInEveryFormat) {
  const auto one = make(CpuIsa::kAuto, 1);
  for (const Format& format : all_formats()) {
    const OpCase whole = linear_case(format, 131, 768, 77);
    const std::vector<StepValues> expected = run_on(*one, whole);
    for (const CpuIsa isa : isas_here()) {
      const auto three = make(isa, 3);
      expect_same(whole, expected, run_on(*three, whole), "three threads");
      for (const int32_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 24, 25, 67, 97}) {
        const OpCase part = first_rows(whole, n);
        std::vector<double> all = join(expected, whole.graph.output);
        all.resize(static_cast<size_t>(n) * 77);
        EXPECT_EQ(first_difference(all, join(run_on(*three, part), part.graph.output)), -1)
            << whole.name << ", " << n << " rows";
      }
    }
  }
}

class LongContext : public testing::TestWithParam<AttentionShape> {};

TEST_P(LongContext, ChunksThreadsAndInstructionSetsAgree) {
  const OpCase whole = attention_case(GetParam(), {2100});
  const std::vector<StepValues> expected = run_on(*cpu_backend(CpuIsa::kAuto, 1), whole);
  const std::vector<std::vector<int32_t>> cuts = {
      {1, 63, 64, 65, 130, 777, 1000}, {512, 512, 512, 512, 52}, {2000, 1, 1, 1, 1, 1, 95}, {2099, 1}};
  for (const CpuIsa isa : isas_here()) {
    const auto backend = cpu_backend(isa, 2);
    expect_same(whole, expected, run_on(*backend, whole), "whole");
    for (const std::vector<int32_t>& lengths : cuts) {
      expect_same(whole, expected, run_on(*backend, cut_into(whole, lengths), {.slack = 5}), "cut");
    }
  }
}

TEST_P(LongContext, StaysWithinTheBoundOfFloat64) {
  const OpCase op_case = attention_case(GetParam(), {2050, 49, 1});
  // Of a cache that rounds, the operands are what it holds.
  const auto rounding = GetParam().cache == DType::kF32 ? RefRounding::kPure : RefRounding::kRounded;
  const auto exact = run_on(*make_ref_backend({.rounding = rounding}), op_case);
  const auto got = run_on(*cpu_backend(CpuIsa::kAuto, 2), op_case);
  const ValueId id = op_case.graph.output;
  const Verdict verdict =
      judge(join(got, id), join(exact, id), slack_of(op_case, exact, id, 0x1p-24), DType::kF32);
  EXPECT_TRUE(verdict.pass()) << verdict.text();
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LongContext,
    testing::Values(AttentionShape{}, AttentionShape{.window = 500},
                    AttentionShape{.n_heads = 4, .n_kv_heads = 1, .k_dim = 40, .v_dim = 72},
                    AttentionShape{.n_heads = 2, .n_kv_heads = 2, .softcap = 30.0f},
                    AttentionShape{.sinks = 8.0},
                    AttentionShape{.n_heads = 8, .n_kv_heads = 1, .window = 500, .sinks = 8.0},
                    AttentionShape{.n_heads = 6, .n_kv_heads = 2, .chunk = 700},
                    AttentionShape{.cache = DType::kF16}, AttentionShape{.cache = DType::kBF16},
                    AttentionShape{
                        .n_heads = 4, .n_kv_heads = 1, .k_dim = 40, .v_dim = 72, .cache = DType::kF16},
                    AttentionShape{.n_heads = 4, .n_kv_heads = 1, .v_dim = 72, .cache = DType::kBF16}),
    [](const testing::TestParamInfo<AttentionShape>& param) {
      return "shape" + std::to_string(param.index);
    });

/// Sequence 0 of a batch of strangers against the same sequence alone.
TEST(CpuAttention, AStrangerInTheBatchDoesNotShow) {
  OpCase alone = attention_case({}, {300});
  OpCase batch = alone;
  CaseStep& step = batch.steps[0];
  step.seqs = {{77, 77, {20, 21}}, step.seqs[0], {0, 0, {}}, {64, 64, {22}}};
  Random random(9);
  for (auto& [id, values] : step.inputs) {
    const auto width = static_cast<size_t>(batch.graph.values[id].type.width);
    std::vector<double> more((77 + 300 + 64) * width);
    for (double& value : more) value = round_to(DType::kF32, 5.0 * random.uniform());
    std::copy(values.begin(), values.end(), more.begin() + static_cast<std::ptrdiff_t>(77 * width));
    values = std::move(more);
  }
  for (const CpuIsa isa : isas_here()) {
    const auto backend = cpu_backend(isa, 2);
    const std::vector<double> expected = join(run_on(*backend, alone), alone.graph.output);
    const std::vector<double> all = join(run_on(*backend, batch), batch.graph.output);
    ASSERT_EQ(all.size(), size_t{441 * 576});
    const std::vector<double> mine(all.begin() + 77 * 576, all.begin() + 377 * 576);
    EXPECT_EQ(first_difference(expected, mine), -1);
  }
}

}  // namespace
}  // namespace skua::test
