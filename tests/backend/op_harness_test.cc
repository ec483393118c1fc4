// The harness must notice kernels that write where they may not, or do not write where they must.
#include "backend/op_harness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/float64_judge.h"
#include "backend/read_floats.h"
#include "backend/ref/ref_backend.h"

namespace skua::test {
namespace {

/// What goes wrong after the real kernel has run. Operands of the case below: header, x, weight, y.
using Damage = void (*)(const KernelCall& call);

KernelFn g_real_kernel = nullptr;
Damage g_damage = nullptr;

void damaged_kernel(const KernelCall& call) {
  g_real_kernel(call);
  g_damage(call);
}

/// The float64 backend with one fault in every kernel.
class DamagedBackend : public Backend {
 public:
  explicit DamagedBackend(Damage damage) : real_(make_ref_backend({})) { g_damage = damage; }

  std::string_view name() const override { return "damaged"; }
  std::string description() const override { return "damaged"; }
  std::string arithmetic() const override { return real_->arithmetic(); }
  Numerics numerics() const override { return real_->numerics(); }
  FusionSet fusions() const override { return real_->fusions(); }
  uint64_t element_bytes(DType storage) const override { return real_->element_bytes(storage); }
  uint64_t cache_page_bytes(const CacheSlot& slot) const override { return real_->cache_page_bytes(slot); }
  Result<std::shared_ptr<DeviceBuffer>> allocate(uint64_t bytes, std::string_view what) override {
    return real_->allocate(bytes, what);
  }
  Result<PackedWeight> pack(const EncodedMatrix& source, std::string_view weight) override {
    return real_->pack(source, weight);
  }
  Result<KernelChoice> choose(const ChooseContext& context, const Node& node) const override {
    SKUA_ASSIGN_OR_RETURN(KernelChoice choice, real_->choose(context, node));
    g_real_kernel = choice.fn;
    choice.fn = &damaged_kernel;
    return choice;
  }
  Status upload(std::byte* to, std::span<const std::byte> from) override { return real_->upload(to, from); }
  Status download(std::span<std::byte> to, const std::byte* from) override {
    return real_->download(to, from);
  }
  Status copy(std::byte* to, const std::byte* from, uint64_t bytes) override {
    return real_->copy(to, from, bytes);
  }
  Status run(std::span<const BoundStep> steps, std::span<const uint32_t> order) override {
    return real_->run(steps, order);
  }

 private:
  std::unique_ptr<Backend> real_;
};

constexpr int64_t kTokens = 3;
constexpr int64_t kRows = 5;

OpCase one_linear() {
  CaseBuilder b("linear");
  const ValueId x = b.input(8);
  b.node(Linear{b.weight(random_weight({FormatKind::kF32}, kRows, 8, 1.0, 1)), {}}, {x});
  b.step(kTokens, 2);
  return b.take();
}

Status run_with(Damage damage) {
  DamagedBackend backend(damage);
  return run_case(backend, one_linear()).status();
}

TEST(OpHarness, UndamagedKernelPasses) {
  EXPECT_TRUE(run_with([](const KernelCall&) {}).ok());
}

TEST(OpHarness, OneByteBehindTheOutputIsNoticed) {
  const Status status = run_with([](const KernelCall& call) {
    call.operands[3][kTokens * kRows * static_cast<int64_t>(sizeof(double))] = std::byte{1};
  });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("after value1"), std::string::npos) << status.message();
}

TEST(OpHarness, OneByteBeforeTheOutputIsNoticed) {
  const Status status = run_with([](const KernelCall& call) { call.operands[3][-1] = std::byte{1}; });
  EXPECT_NE(status.message().find("before value1"), std::string::npos) << status.message();
}

TEST(OpHarness, WritingAroundAnInputIsNoticed) {
  const Status status = run_with([](const KernelCall& call) { call.operands[1][-200] = std::byte{1}; });
  EXPECT_NE(status.message().find("before input0"), std::string::npos) << status.message();
}

TEST(OpHarness, WritingBehindTheHeaderIsNoticed) {
  const Status status =
      run_with([](const KernelCall& call) { call.operands[0][sizeof(StepHeader)] = std::byte{1}; });
  EXPECT_NE(status.message().find("after step input"), std::string::npos) << status.message();
}

int g_runs = 0;

void kernel_that_runs_once(const KernelCall& call) {
  if (++g_runs == 1) g_real_kernel(call);
}

/// Its kernels work in the first step only.
class LazyBackend : public DamagedBackend {
 public:
  LazyBackend() : DamagedBackend(nullptr) { g_runs = 0; }
  Result<KernelChoice> choose(const ChooseContext& context, const Node& node) const override {
    SKUA_ASSIGN_OR_RETURN(KernelChoice choice, DamagedBackend::choose(context, node));
    choice.fn = &kernel_that_runs_once;
    return choice;
  }
};

TEST(OpHarness, StaleOutputOfAnEarlierStepCannotPass) {
  OpCase op_case = one_linear();
  op_case.steps.push_back(op_case.steps[0]);
  LazyBackend lazy;
  const auto result = run_case(lazy, op_case);
  ASSERT_TRUE(result.ok());
  const std::vector<double> y = join(*result, op_case.graph.output);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i >= y.size() / 2) << i;
}

TEST(ReadFloats, ReadsEveryStorageTypeAsItLiesInMemory) {
  const auto cpu = make_cpu_backend({.n_threads = 1});
  ASSERT_TRUE(cpu.ok());
  const auto read = [&](DType type, const void* bytes, size_t n_bytes, size_t n) {
    const auto buffer = (*cpu)->allocate(n_bytes, "test");
    EXPECT_TRUE((*cpu)->upload((*buffer)->data(), {static_cast<const std::byte*>(bytes), n_bytes}).ok());
    const auto values = read_floats(**cpu, (*buffer)->data(), type, n);
    EXPECT_TRUE(values.ok()) << values.status().message();
    return values.ok() ? *values : std::vector<double>();
  };
  const std::vector<double> expected = {1.5, -2.0, 0.0};
  const float f32[] = {1.5f, -2.0f, 0.0f};
  const uint16_t bf16[] = {0x3FC0, 0xC000, 0};
  const uint16_t f16[] = {0x3E00, 0xC000, 0};
  EXPECT_EQ(read(DType::kF32, f32, sizeof(f32), 3), expected);
  EXPECT_EQ(read(DType::kBF16, bf16, sizeof(bf16), 3), expected);
  EXPECT_EQ(read(DType::kF16, f16, sizeof(f16), 3), expected);
  EXPECT_EQ(read(DType::kF64, expected.data(), 24, 3), expected);
  EXPECT_EQ(read_floats(**cpu, nullptr, DType::kI32, 1).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace skua::test
