// Goldens are short: tails, page borders and long contexts are judged here against float64, at 2,100 tokens,
// for every registered family, with odd sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr int32_t kTokens = 2100;

double largest_difference(const Rows& a, const Rows& b, int* where) {
  double worst = 0;
  for (size_t row = 0; row < a.size(); ++row) {
    for (size_t i = 0; i < a[row].size(); ++i) {
      const double error = std::abs(static_cast<double>(a[row][i]) - static_cast<double>(b[row][i]));
      if (error > worst || std::isnan(error)) {
        worst = std::isnan(error) ? INFINITY : error;
        *where = static_cast<int>(row);
      }
    }
  }
  return worst;
}

double spread(const Rows& rows) {
  double sum = 0, square_sum = 0, n = 0;
  for (const auto& row : rows) {
    for (float x : row) {
      sum += x;
      square_sum += static_cast<double>(x) * x;
      n += 1;
    }
  }
  return std::sqrt(square_sum / n - sum / n * (sum / n));
}

Rows prefill(HandRunner& hand, const std::vector<int32_t>& ids) {
  HandSeq seq = hand.new_seq();
  return hand.step({{&seq, ids}});
}

std::unique_ptr<Backend> ref(RefRounding rounding) { return make_ref_backend({rounding, {}, 0}); }

class LongContext : public testing::TestWithParam<FamilyModel> {};

TEST_P(LongContext, CpuStaysNearFloat64At2100Tokens) {
  const RunnerOptions at_once{.context = kTokens, .max_tokens = kTokens, .max_seqs = 1};
  HandRunner exact(GetParam(), ref(RefRounding::kPure), at_once);
  HandRunner rounded(GetParam(), ref(RefRounding::kRounded), at_once);
  HandRunner cpu(GetParam(), must(make_cpu_backend({})),
                 {.context = kTokens, .max_tokens = 512, .max_seqs = 1});
  const std::vector<int32_t> ids = random_ids(11, kTokens, exact.n_vocab());
  const Rows truth = prefill(exact, ids);
  ASSERT_EQ(truth.size(), static_cast<size_t>(kTokens));

  // What rounding each edge to f32 alone costs is the unit: sums inside the kernels may add some of the same
  // size.
  int row = 0;
  const double unit = largest_difference(truth, prefill(rounded, ids), &row);
  Rows got;
  HandSeq seq = cpu.new_seq();
  for (int32_t chunk : random_chunks(3, kTokens, 512)) {
    const std::vector<int32_t> part(ids.begin() + seq.n_cached, ids.begin() + seq.n_cached + chunk);
    for (auto& logits : cpu.step({{&seq, part}})) got.push_back(std::move(logits));
  }
  // The end of the context again, in small steps: the same bytes.
  for (int32_t width : {1, 5}) {
    cpu.roll_back(seq, kTokens - 10);
    while (seq.n_cached < kTokens) {
      const std::vector<int32_t> part(ids.begin() + seq.n_cached, ids.begin() + seq.n_cached + width);
      const auto at = got.begin() + seq.n_cached;
      EXPECT_EQ(first_different_row(Rows(at, at + width), cpu.step({{&seq, part}})), -1) << "width " << width;
    }
  }
  const double error = largest_difference(truth, got, &row);
  std::printf(
      "  %s: cpu differs from float64 by at most %.2e (position %d); f32 edges alone cost %.2e; logits "
      "spread %.2f\n",
      GetParam().name.c_str(), error, row, unit, spread(truth));
  EXPECT_LE(error, 8 * unit);
  EXPECT_LE(error, 2e-4 * spread(truth));
}

INSTANTIATE_TEST_SUITE_P(All, LongContext, testing::ValuesIn(sample_family_models()),
                         [](const testing::TestParamInfo<FamilyModel>& param) { return param.param.name; });

}  // namespace
}  // namespace skua::test
