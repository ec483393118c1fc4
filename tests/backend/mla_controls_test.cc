// Negative controls for split latent attention: merges that are wrong, or only ordered otherwise, are made by
// hand from a case's own operands and given to the judge that the kernels are given to.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/backends.h"
#include "backend/cases.h"
#include "backend/float64_judge.h"
#include "backend/op_bounds.h"
#include "backend/op_harness.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

constexpr double kU32 = 0x1p-24;

enum class Order { kAscending, kDescending };
enum class Merge { kBase2, kNaturalLog, kUnweighted };

/// The second step of "4 heads, 32 + 16, from 300" (one query, 301 keys), from splits of 128 keys that are
/// normalised, and merged by the logarithm to base 2 of their sums.
template <typename Float>
std::vector<double> merged(const OpCase& op_case, Merge merge, Order order) {
  constexpr size_t kHeads = 4, kRank = 32, kRope = 16, kKeys = 301, kSplit = 128;
  const auto scale = 1.0 / std::sqrt(48.0) * 1.4426950408889634;  // scores in base 2
  std::vector<double> out;
  const auto key_row = [&](size_t input, size_t key, size_t width) {
    const size_t step = key < 300 ? 0 : 1;
    return &op_case.steps[step].inputs.at(static_cast<uint32_t>(input))[(step == 0 ? key : 0) * width];
  };
  for (size_t head = 0; head < kHeads; ++head) {
    const double* q_latent = &op_case.steps[1].inputs.at(2)[head * kRank];
    const double* q_pe = &op_case.steps[1].inputs.at(3)[head * kRope];
    std::vector<std::vector<Float>> means;
    std::vector<Float> lse;
    for (size_t begin = 0; begin < kKeys; begin += kSplit) {
      std::vector<Float> mean(kRank, 0);
      Float sum = 0;
      for (size_t key = begin; key < std::min(begin + kSplit, kKeys); ++key) {
        const double *kpe = key_row(0, key, kRope), *ckv = key_row(1, key, kRank);
        double score = 0;
        for (size_t i = 0; i < kRank; ++i) score += q_latent[i] * ckv[i];
        for (size_t i = 0; i < kRope; ++i) score += q_pe[i] * kpe[i];
        const auto weight = static_cast<Float>(std::exp2(score * scale));
        sum += weight;
        for (size_t i = 0; i < kRank; ++i) mean[i] += weight * static_cast<Float>(ckv[i]);
      }
      for (Float& value : mean) value /= sum;
      means.push_back(mean);
      lse.push_back(std::log2(sum));
    }
    std::vector<Float> y(kRank, 0);
    Float total = 0;
    for (size_t place = 0; place < means.size(); ++place) {
      const size_t split = order == Order::kDescending ? means.size() - 1 - place : place;
      const Float weight = merge == Merge::kBase2        ? std::exp2(lse[split])
                           : merge == Merge::kNaturalLog ? std::exp(lse[split])
                                                         : Float{1};
      total += weight;
      for (size_t i = 0; i < kRank; ++i) y[i] += weight * means[split][i];
    }
    for (const Float value : y) out.push_back(static_cast<double>(value / total));
  }
  return out;
}

class MlaControls : public testing::Test {
 protected:
  void SetUp() override {
    for (OpCase& op_case : mla_cases()) {
      if (op_case.name == "mla_attention 4 heads, 32 + 16, from 300") case_ = std::move(op_case);
    }
    ASSERT_EQ(case_.steps.size(), 3u);
    const auto backend = make_ref_backend({});
    auto exact = run_case(*backend, case_);
    ASSERT_TRUE(exact.ok());
    exact_ = std::move(*exact);
    out_ = case_.graph.nodes.back().outputs[0];
  }

  /// The judge's word on the case's output with the second step's first row replaced.
  Verdict judged(const std::vector<double>& row) const {
    const std::vector<double> truth = join(exact_, out_);
    std::vector<double> got = truth;
    const size_t first = 305 * row.size();  // the first step has 300 + 5 tokens
    std::copy(row.begin(), row.end(), got.begin() + static_cast<std::ptrdiff_t>(first));
    return judge(got, truth, slack_of(case_, exact_, out_, kU32), DType::kF32);
  }

  OpCase case_;
  std::vector<StepValues> exact_;
  ValueId out_{0};
};

TEST_F(MlaControls, SplitsMergedInBase2PassAndOtherMergesAreCaught) {
  EXPECT_TRUE(judged(merged<double>(case_, Merge::kBase2, Order::kAscending)).pass());
  const Verdict natural = judged(merged<double>(case_, Merge::kNaturalLog, Order::kAscending));
  const Verdict unweighted = judged(merged<double>(case_, Merge::kUnweighted, Order::kAscending));
  EXPECT_FALSE(natural.pass());
  EXPECT_FALSE(unweighted.pass());
  std::printf("  natural logarithm: %s\n  unweighted: %s\n", natural.text().c_str(),
              unweighted.text().c_str());
}

TEST_F(MlaControls, AnotherOrderOfSplitsStaysWithinTheBoundButGivesOtherBytes) {
  const std::vector<double> up = merged<float>(case_, Merge::kBase2, Order::kAscending);
  const std::vector<double> down = merged<float>(case_, Merge::kBase2, Order::kDescending);
  EXPECT_TRUE(judged(up).pass());
  EXPECT_TRUE(judged(down).pass());
  EXPECT_NE(up, down);
}

}  // namespace
}  // namespace skua::test
