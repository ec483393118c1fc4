// A cache of 16-bit numbers holds the nearest one to each key and value, ties to even; what is too large for
// the type is kept as its largest number, and counted.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_cases.h"
#include "backend/host_random.h"
#include "backend/ref/ref_backend.h"
#include "tensor/dtype.h"

namespace skua::test {
namespace {

constexpr int32_t kHeads = 16;
constexpr int32_t kDim = 256;
constexpr size_t kValues = size_t{kHeads} * kDim;

/// One token whose query is zero: its attention is its own stored value, exactly.
OpCase one_token(DType cache, const std::vector<double>& values) {
  CaseBuilder b("stored as " + std::string(dtype_name(cache)));
  const SlotId slot =
      b.slot({.kind = SlotKind::kFull, .n_kv_heads = kHeads, .k_dim = 16, .v_dim = kDim, .storage = cache});
  const ValueId k = b.input(kHeads * 16), v = b.input(kHeads * kDim), q = b.input(kHeads * 16);
  b.node(KvWrite{slot}, {k, v});
  b.node(Attention{slot, kHeads, 1.0f, 0, 0.0f}, {q});
  CaseStep& step = b.step({{1, 1, {0}}}, 1);
  step.inputs.at(v.value()) = values;
  step.inputs.at(q.value()).assign(kHeads * 16, 0.0);
  return b.take();
}

/// Floats of every magnitude that a 16-bit type has and some beyond, ties between neighbours among them.
std::vector<double> values_for(DType cache) {
  const int digits = cache == DType::kF16 ? 11 : 8;
  Random random(5);
  std::vector<double> out;
  for (int i = 0; i < digits + 2; ++i) {  // ties: the last kept digit odd and even
    const double tie = std::ldexp(1.0, -digits);
    for (double sign : {-1.0, 1.0}) {
      out.push_back(sign * std::ldexp(1 + tie, i - 5));
      out.push_back(sign * std::ldexp(1 + 3 * tie, i - 5));
      out.push_back(sign * std::ldexp(1 + tie + tie / 64, i - 5));
      out.push_back(sign * std::ldexp(1 + tie - tie / 64, i - 5));
    }
  }
  for (double x : {0x1p-24, 0x1p-25, 0x1.8p-24, 0x1.4p-24, 65504.0, 65519.0, 65519.996}) out.push_back(x);
  while (out.size() < kValues) {
    const auto bits = static_cast<uint32_t>(random.next());
    const double x = std::bit_cast<float>(bits);
    if (!std::isfinite(x) || std::abs(x) >= (cache == DType::kF16 ? 65520.0 : 0x1.FFp127)) continue;
    if (std::abs(x) < 0x1p-126) continue;  // subnormal floats are no business of this test
    out.push_back(x);
  }
  return out;
}

class CacheTypes : public testing::TestWithParam<DType> {};

TEST_P(CacheTypes, HoldTheNearestNumberTiesToEven) {
  const std::vector<double> values = values_for(GetParam());
  const OpCase op_case = one_token(GetParam(), values);
  for (const CpuIsa isa : isas_here()) {
    const auto backend = cpu_backend(isa, 2);
    const std::vector<double> got = join(run_on(*backend, op_case), op_case.graph.output);
    ASSERT_EQ(got.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(got[i], round_to(GetParam(), values[i])) << std::hexfloat << values[i];
    EXPECT_EQ(backend->saturated_cache_values(), 0u);
  }
}

TEST_P(CacheTypes, KeepWhatIsTooLargeAsTheLargestAndCountIt) {
  const bool f16 = GetParam() == DType::kF16;
  const double largest = f16 ? 65504 : 0x1.FEp127, first_over = f16 ? 65520 : 0x1.FFp127;
  const double most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(kValues, 1.0);
  values[0] = first_over;
  values[40] = -first_over;
  values[300] = most;
  values[4095] = -most;
  values[600] = infinity;  // no finite number: it stays what it is and is not counted
  values[900] = -infinity;
  std::vector<double> kept = values;
  kept[0] = kept[300] = largest;
  kept[40] = kept[4095] = -largest;
  const OpCase op_case = one_token(GetParam(), values);
  for (const CpuIsa isa : isas_here()) {
    const auto backend = cpu_backend(isa, 2);
    EXPECT_EQ(join(run_on(*backend, op_case), op_case.graph.output), kept);
    EXPECT_EQ(backend->saturated_cache_values(), 4u);
  }
  const auto ref = make_ref_backend({.rounding = RefRounding::kRounded});
  EXPECT_EQ(join(run_on(*ref, op_case), op_case.graph.output), kept);
}

INSTANTIATE_TEST_SUITE_P(Halves, CacheTypes, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

TEST(CacheType, IsF32UnlessAskedForAndPartOfTheArithmetic) {
  const auto plain = cpu_backend(CpuIsa::kAuto, 1);
  EXPECT_EQ(plain->arithmetic(), "cpu f32");
  EXPECT_FALSE(plain->numerics().kv_cache.has_value());
  const auto halves = make_cpu_backend({.n_threads = 1, .cache = DType::kF16});
  ASSERT_TRUE(halves.ok());
  EXPECT_EQ((*halves)->arithmetic(), "cpu f32, cache f16");
  EXPECT_EQ((*halves)->numerics().kv_cache, DType::kF16);
  const auto bytes = make_cpu_backend({.n_threads = 1, .cache = DType::kF8E4M3});
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.status().message().find("expected f32, f16 or bf16"), std::string::npos);
}

}  // namespace
}  // namespace skua::test
