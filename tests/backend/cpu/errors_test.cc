// What the CPU backend refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/cases.h"
#include "backend/cpu/cpu_cases.h"

namespace skua::test {
namespace {

using testing::HasSubstr;

void set_u16(HostWeight& weight, int plane, size_t at, uint16_t bits) {
  std::memcpy(&weight.planes[plane][at], &bits, sizeof(bits));
}

TEST(CpuPack, NamesTheFirstValueThatAnInfiniteScaleSpoils) {
  const auto backend = cpu_backend(CpuIsa::kAuto, 2);
  HostWeight q4 = random_weight({FormatKind::kQ4_1}, 8, 96, 1.0, 1);
  ASSERT_TRUE(backend->pack(q4.view(), "w").ok());
  set_u16(q4, 0, 3 * 60 + 20 + 2, 0x7E00);  // row 3, block 1: the minimum is NaN
  set_u16(q4, 0, 6 * 60, 0x7C00);           // a later one
  const auto packed = backend->pack(q4.view(), "layers.0.q");
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.status().code(), Code::kDataLoss);
  EXPECT_THAT(packed.status().message(), HasSubstr("layers.0.q"));
  EXPECT_THAT(packed.status().message(), HasSubstr("row 3, column 32"));
}

TEST(CpuPack, AnAffineScaleNearTheLargestFloatIsJudgedByItsValues) {
  const auto backend = cpu_backend(CpuIsa::kAuto, 1);
  HostWeight affine = random_weight({FormatKind::kAffine, 4, 32, DType::kBF16}, 1, 64, 1.0, 1);
  set_u16(affine, 1, 2, 0x7E00);  // 4.25e37, group 1: codes above 7 overflow
  std::fill(affine.planes[0].begin(), affine.planes[0].end(), std::byte{0});
  ASSERT_TRUE(backend->pack(affine.view(), "w").ok());
  affine.planes[0][20] = std::byte{0xF0};  // column 41 has code 15
  const auto packed = backend->pack(affine.view(), "w");
  ASSERT_FALSE(packed.ok());
  EXPECT_THAT(packed.status().message(), HasSubstr("row 0, column 41"));
}

TEST(CpuPack, FollowsTheRowMap) {
  HostWeight weight = random_weight({FormatKind::kQ8_0}, 6, 64, 1.0, 1);
  EncodedMatrix view = weight.view();
  view.row_map = {5, 4, 3, 2, 1, 0};
  const auto packed = cpu_backend(CpuIsa::kAuto, 1)->pack(view, "w");
  ASSERT_TRUE(packed.ok());
  for (size_t row = 0; row < 6; ++row) {
    EXPECT_EQ(std::memcmp(packed->buffer->data() + row * 68, &weight.planes[0][(5 - row) * 68], 68), 0);
  }
}

Result<KernelChoice> choose(const OpCase& op_case) {
  const auto backend = cpu_backend(CpuIsa::kAvx2, 2);
  std::vector<PackedWeight> weights;
  for (const HostWeight& weight : op_case.weights) {
    weights.push_back(std::move(backend->pack(weight.view(), "w")).value());
  }
  return backend->choose({&op_case.graph, weights, {.n_tokens = 4, .max_pages = 2}}, op_case.graph.nodes[0]);
}

TEST(CpuChoose, NamesKernelsByArchOpAndFormat) {
  const auto choice = choose(linear_case({FormatKind::kQ4_1}, 4, 64, 8));
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->kernel, "avx2_linear_q4_1_f32");
  EXPECT_EQ(choice->flops, uint64_t{2 * 4 * 64 * 8});
}

TEST(CpuChoose, RefusesOtherEdgeTypesNamingTheNearest) {
  CaseBuilder b("scale");
  b.node(Scale{2.0f}, {b.input(8, DType::kBF16)}, DType::kBF16);
  const auto choice = choose(b.take());
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), Code::kUnsupported);
  EXPECT_THAT(choice.status().message(), HasSubstr("bf16"));
  EXPECT_THAT(choice.status().message(), HasSubstr("nearest supported type is f32"));
}

TEST(CpuChoose, RefusesFrequenciesThatWouldLeaveTheRangeOfTheReduction) {
  CaseBuilder b("angles");
  b.node(RopeAngles{{1.0, 1.5}, 1.0}, {});
  EXPECT_EQ(choose(b.take()).status().code(), Code::kUnsupported);
}

TEST(CpuBackend, RefusesAbsurdThreadCountsAndUnknownSets) {
  EXPECT_EQ(make_cpu_backend({.n_threads = -1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(make_cpu_backend({.n_threads = 100000}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(cpu_isa_from_name("sse9").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(cpu_isa_from_name("avx2").value(), CpuIsa::kAvx2);
}

TEST(CpuBackend, SaysHowMuchMemoryItCouldNotGet) {
  const auto buffer = cpu_backend(CpuIsa::kAuto, 1)->allocate(uint64_t{1} << 60, "the arena");
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(buffer.status().message(), HasSubstr("1152921504606846976 bytes"));
  EXPECT_THAT(buffer.status().message(), HasSubstr("the arena"));
}

}  // namespace
}  // namespace skua::test
