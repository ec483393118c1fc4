// --compute auto: integer products for the formats that passed the quality gate of docs/checkpoints.md, f32
// for all others.
#include <gtest/gtest.h>

#include "backend/cpu/pack.h"

namespace skua::cpu {
namespace {

bool in_panels(CpuCompute compute, const Format& format, int64_t rows = 64) {
  return weight_order(compute, format, rows) == WeightOrder::kPanels;
}

/// The table of docs/checkpoints.md: every format in it lost less than 0.1 %.
std::vector<Format> judged() {
  using enum FormatKind;
  std::vector<Format> out = {{kQ4_0}, {kQ4_1}, {kQ5_0}, {kQ5_1},   {kQ8_0},   {kQ2_K},       {kQ3_K},
                             {kQ4_K}, {kQ5_K}, {kQ6_K}, {kIQ4_NL}, {kIQ4_XS}, {kMxfp4Block}, {kMxfp4}};
  for (const uint8_t bits : {2, 3, 4, 5, 6, 8}) out.push_back({kAffine, bits, 64, DType::kBF16});
  return out;
}

TEST(AutoCompute, TakesIntegerProductsForJudgedFormats) {
  for (const Format& format : judged()) {
    EXPECT_TRUE(in_panels(CpuCompute::kAuto, format)) << format_name(format);
    EXPECT_TRUE(in_panels(CpuCompute::kNative, format)) << format_name(format);
    EXPECT_FALSE(in_panels(CpuCompute::kF32, format)) << format_name(format);
  }
}

TEST(AutoCompute, LeavesPlainWeightsAndVectorsInF32) {
  for (const Format& format :
       {Format{FormatKind::kF32}, Format{FormatKind::kBF16}, Format{FormatKind::kF16}}) {
    EXPECT_FALSE(in_panels(CpuCompute::kAuto, format)) << format_name(format);
    EXPECT_FALSE(in_panels(CpuCompute::kNative, format)) << format_name(format);
  }
  EXPECT_FALSE(in_panels(CpuCompute::kAuto, {FormatKind::kQ4_1}, 1));
}

}  // namespace
}  // namespace skua::cpu
