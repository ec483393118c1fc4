// --compute auto: integer products for formats that passed the quality gate, f32 for all others.
#include <gtest/gtest.h>

#include "backend/cpu/pack.h"

namespace skua::cpu {
namespace {

bool in_panels(CpuCompute compute, const Format& format) {
  return weight_order(compute, format, 64) == WeightOrder::kPanels;
}

TEST(AutoCompute, TakesIntegerProductsForJudgedFormatsOnly) {
  const auto affine = [](uint8_t bits) { return Format{FormatKind::kAffine, bits, 64, DType::kBF16}; };
  for (const Format& format : {affine(4), affine(8)}) {
    EXPECT_TRUE(in_panels(CpuCompute::kAuto, format)) << format_name(format);
  }
  for (const Format& format :
       {Format{FormatKind::kQ4_0}, Format{FormatKind::kQ4_1}, Format{FormatKind::kQ5_0},
        Format{FormatKind::kQ5_1}, Format{FormatKind::kQ8_0}, Format{FormatKind::kQ6_K}, affine(2), affine(3),
        affine(5), affine(6)}) {
    EXPECT_FALSE(in_panels(CpuCompute::kAuto, format)) << format_name(format);
    EXPECT_TRUE(in_panels(CpuCompute::kNative, format)) << format_name(format);
  }
  for (const Format& format : {Format{FormatKind::kF32}, Format{FormatKind::kBF16}})
    EXPECT_FALSE(in_panels(CpuCompute::kNative, format)) << format_name(format);
}

TEST(AutoCompute, F32NeverTakesThem) { EXPECT_FALSE(in_panels(CpuCompute::kF32, Format{FormatKind::kQ4_0})); }

}  // namespace
}  // namespace skua::cpu
