// Integer products: panels hold what the file holds, quantized activations follow their rule, and products
// are judged against float64 on the operands that the kernel saw.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend/cases.h"
#include "backend/cpu/cpu_cases.h"
#include "backend/cpu/panels.h"

namespace skua::test {
namespace {

std::vector<Format> panel_formats() {
  using enum FormatKind;
  std::vector<Format> out = {{kQ4_0}, {kQ4_1}, {kQ5_0}, {kQ5_1},   {kQ8_0},   {kQ2_K},       {kQ3_K},
                             {kQ4_K}, {kQ5_K}, {kQ6_K}, {kIQ4_NL}, {kIQ4_XS}, {kMxfp4Block}, {kMxfp4}};
  for (const uint8_t bits : {2, 3, 4, 5, 6, 8}) {
    for (const uint16_t group : {32, 64, 128}) {
      for (const DType scale : {DType::kF16, DType::kBF16, DType::kF32})
        out.push_back({kAffine, bits, group, scale});
    }
  }
  return out;
}

TEST(CpuNative, HasPanelsForExactlyTheseFormats) {
  for (const Format& format : panel_formats()) EXPECT_TRUE(cpu::panel_format(format)) << format_name(format);
  for (const Format& format : all_formats()) {
    const std::vector<Format> listed = panel_formats();
    const bool expected = std::find(listed.begin(), listed.end(), format) != listed.end();
    EXPECT_EQ(cpu::panel_format(format).has_value(), expected) << format_name(format);
  }
}

TEST(CpuNative, PanelsUnpackToTheFilesValues) {
  for (const Format& format : panel_formats()) {
    CaseBuilder b("embed " + format_name(format));
    const HostWeight weight = random_weight(format, 37, 768, 1.0, 3);
    b.node(Embed{b.weight(weight), 1.0f}, {});
    CaseStep& step = b.step(37, 1);
    for (int32_t t = 0; t < 37; ++t) step.ids.push_back(36 - t);
    const OpCase op_case = b.take();
    const auto got =
        join(run_on(*cpu_backend(CpuIsa::kAuto, 2, CpuCompute::kNative), op_case), op_case.graph.output);
    for (int64_t t = 0; t < 37; ++t) {
      const std::vector<double> row(got.begin() + t * 768, got.begin() + (t + 1) * 768);
      ASSERT_EQ(first_difference(row, weight.row(36 - t)), -1) << op_case.name << ", row " << t;
    }
  }
}

/// Worst error over bound of a linear case, judged on the quantized activations. |scale code| is at most |w|
/// + |offset|.
double worst_ratio(const OpCase& op_case, const std::vector<double>& got) {
  const HostWeight& w = op_case.weights[0];
  const bool has_offset = cpu::panel_format(w.format)->has_offset;
  const HostWeight offsets = has_offset ? without_codes(w) : HostWeight{};
  const std::vector<double> x = quantized(op_case.steps[0].inputs.at(0), w.cols);
  const std::vector<double> bias = op_case.weights[1].row(0);
  const double u = 0x1p-24, depth = panel_depth(w.format, w.cols);
  double worst = 0;
  for (int64_t n = 0; n < w.rows; ++n) {
    const std::vector<double> row = w.row(n);
    const std::vector<double> offset = has_offset ? offsets.row(n) : std::vector<double>(row.size());
    const int64_t n_x = static_cast<int64_t>(x.size()) / w.cols;
    for (int64_t t = 0; t < n_x; ++t) {
      double exact = bias[static_cast<size_t>(n)], s = std::abs(exact);
      for (int64_t k = 0; k < w.cols; ++k) {
        const double xk = x[static_cast<size_t>(t * w.cols + k)];
        exact += xk * row[static_cast<size_t>(k)];
        s += std::abs(xk) *
             (std::abs(row[static_cast<size_t>(k)]) + 2 * std::abs(offset[static_cast<size_t>(k)]));
      }
      const double error = std::abs(got[static_cast<size_t>(t * w.rows + n)] - exact);
      const double ratio = error / (u * std::abs(exact) + depth * u * s);
      worst = std::max(worst, std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
    }
  }
  return worst;
}

TEST(CpuNative, ProductsStayWithinTheBoundOfFloat64) {
  double worst = 0;
  std::string worst_case;
  for (const Format& format : panel_formats()) {
    for (const auto& [tokens, cols, rows] : {std::tuple{3, 256, 5}, {9, 768, 16}, {33, 1536, 50}}) {
      const OpCase op_case = linear_case(format, tokens, cols, rows);
      for (const CpuIsa isa : isas_here()) {
        const auto backend = cpu_backend(isa, 2, CpuCompute::kNative);
        const double ratio = worst_ratio(op_case, join(run_on(*backend, op_case), op_case.graph.output));
        EXPECT_LE(ratio, 1.0) << op_case.name;
        if (ratio > worst) {
          worst = ratio;
          worst_case = op_case.name;
        }
      }
    }
  }
  std::printf("  worst error/bound %.3f: %s\n", worst, worst_case.c_str());
}

/// Largest error against products of the activations as they came, in units of what rounding them may do
/// (half a step of each block's codes, times |w|) and of the sums' own rounding.
double worst_ratio_unrounded(const OpCase& op_case, const std::vector<double>& got) {
  const HostWeight& w = op_case.weights[0];
  const bool has_offset = cpu::panel_format(w.format)->has_offset;
  const HostWeight offsets = has_offset ? without_codes(w) : HostWeight{};
  const std::vector<double>& x = op_case.steps[0].inputs.at(0);
  const std::vector<double> bias = op_case.weights[1].row(0);
  const auto cols = static_cast<size_t>(w.cols), n_rows = static_cast<size_t>(w.rows);
  const double u = 0x1p-24, depth = panel_depth(w.format, w.cols);
  std::vector<double> step(x.size());  // between two values that an activation can take
  for (size_t run = 0; run<x.size(); run += run % cols + 512> cols ? cols % 512 : 512) {
    const size_t n_blocks = std::min<size_t>(512, cols - run % cols) / 32;
    const std::vector<size_t> refined = refined_blocks(x, run, n_blocks);
    for (size_t b = 0; b < n_blocks; ++b) {
      double amax = 0;
      for (size_t i = 0; i < 32; ++i) amax = std::max(amax, std::abs(x[run + 32 * b + i]));
      const bool is_refined = std::find(refined.begin(), refined.end(), b) != refined.end();
      std::fill_n(step.begin() + static_cast<std::ptrdiff_t>(run + 32 * b), 32,
                  amax / (is_refined ? 16256 : 127));
    }
  }
  double worst = 0;
  for (size_t n = 0; n < n_rows; ++n) {
    const std::vector<double> row = w.row(static_cast<int64_t>(n));
    const std::vector<double> offset =
        has_offset ? offsets.row(static_cast<int64_t>(n)) : std::vector<double>(cols);
    for (size_t t = 0; t < x.size() / cols; ++t) {
      double exact = bias[n], bound = 0, s = std::abs(exact);
      for (size_t k = 0; k < cols; ++k) {
        exact += x[t * cols + k] * row[k];
        s += std::abs(x[t * cols + k]) * (std::abs(row[k]) + 2 * std::abs(offset[k]));
        bound += 0.51 * step[t * cols + k] * std::abs(row[k]);
      }
      const double ratio = std::abs(got[t * n_rows + n] - exact) / (bound + depth * u * s);
      worst = std::max(worst, std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
    }
  }
  return worst;
}

/// It sees a remainder that is lost or misplaced, whatever the rule in quantized() says: of each run, only
/// the blocks that are refined hold numbers of any size.
TEST(CpuNative, RefinedProductsStayNearThoseOfUnroundedActivations) {
  double worst = 0, least = std::numeric_limits<double>::infinity();
  for (const Format& format : panel_formats()) {
    OpCase op_case = linear_case(format, 15, 768, 50);  // tiles of 8, 4, 2 and 1 rows; a run and half a run
    std::vector<double>& x = op_case.steps[0].inputs.at(0);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t row = i / 768, block = i % 768 / 32;
      const bool large = block < 16 ? (block + row) % 5 == 0 && block / 5 < 3 : (block + row) % 4 == 0;
      if (!large) x[i] = double{static_cast<float>(x[i] * 0x1p-14)};
    }
    for (const CpuIsa isa : isas_here()) {
      const auto backend = cpu_backend(isa, 2, CpuCompute::kNative);
      const double ratio =
          worst_ratio_unrounded(op_case, join(run_on(*backend, op_case), op_case.graph.output));
      EXPECT_LE(ratio, 1.0) << op_case.name << ", " << cpu_isa_name(isa);
      worst = std::max(worst, ratio);
      least = std::min(least, ratio);
    }
  }
  std::printf("  worst error/bound from %.3f to %.3f\n", least, worst);
  EXPECT_GE(least, 1e-3) << "a bound that no format comes near proves little";
}

/// All codes at their extremes and activations at full scale, so that a sum that wrapped would show.
TEST(CpuNative, ExtremeCodesDoNotWrap) {
  // At scale 1: high parts at their ends with low parts at 0; low parts at -64 and at 63.
  const std::array<std::array<double, 2>, 3> ends = {{{16256, -16256}, {16192, -16192}, {16191, -16193}}};
  for (const Format& format : panel_formats()) {
    for (const uint8_t fill : {0x00, 0x80, 0x7F, 0xFF}) {
      OpCase op_case = linear_case(format, 6, 256, 16);
      fill_codes(op_case.weights[0], fill);
      std::vector<double>& x = op_case.steps[0].inputs.at(0);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t row = i / 256;  // the first three rows hold one sign
        x[i] = i % 32 == 0 ? 16256.0 : ends[row % 3][row < 3 || i % 3 == 0 ? 0 : 1];
      }
      for (const CpuIsa isa : isas_here()) {
        const auto backend = cpu_backend(isa, 1, CpuCompute::kNative);
        EXPECT_LE(worst_ratio(op_case, join(run_on(*backend, op_case), op_case.graph.output)), 1.0)
            << op_case.name << ", codes " << int{fill} << ", " << cpu_isa_name(isa);
      }
    }
  }
}

/// Scale bytes of MXFP4 down to 0: 2^-127 and its half are subnormal.
TEST(CpuNative, LeastScalesOfMxfp4Count) {
  for (const Format& format : {Format{FormatKind::kMxfp4Block}, Format{FormatKind::kMxfp4}}) {
    OpCase op_case = linear_case(format, 5, 256, 20);
    HostWeight& w = op_case.weights[0];
    const bool planes = format.kind == FormatKind::kMxfp4;
    std::vector<std::byte>& scales = w.planes[planes ? 1 : 0];
    for (size_t i = 0; i < scales.size(); i += planes ? 1 : 17)
      scales[i] = static_cast<std::byte>(i / 17 % 4);
    for (double& x : op_case.steps[0].inputs.at(0)) x *= 0x1p120;
    double largest = 0;
    for (int64_t n = 0; n < 20; ++n)
      for (const double value : w.row(n)) largest = std::max(largest, std::abs(value));
    EXPECT_EQ(largest, 6 * 0x1p-124);
    for (const CpuIsa isa : isas_here()) {
      const auto y = join(run_on(*cpu_backend(isa, 2, CpuCompute::kNative), op_case), op_case.graph.output);
      EXPECT_LE(worst_ratio(op_case, y), 1.0) << op_case.name << ", " << cpu_isa_name(isa);
    }
  }
}

/// Packed bytes stay close to the file's: at most 4 % more, beside rows that fill the last panel.
TEST(CpuNative, PanelsAreHardlyLargerThanTheFile) {
  for (const Format& format : panel_formats()) {
    uint64_t bytes = 0;
    cpu::panel_layout(format, 2048, 2048, &bytes);
    const double ratio = static_cast<double>(bytes) / (2048.0 * static_cast<double>(row_bytes(format, 2048)));
    EXPECT_GE(ratio, 1.0) << format_name(format);
    EXPECT_LE(ratio, 1.04) << format_name(format);
  }
}

TEST(CpuNative, OddActivationsReachOnlyTheirOwnRow) {
  OpCase op_case = linear_case({FormatKind::kQ4_1}, 6, 64, 20);
  std::vector<double>& x = op_case.steps[0].inputs.at(0);
  x[64 + 63] = std::numeric_limits<double>::quiet_NaN();
  x[2 * 64] = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < 64; ++i) {
    x[3 * 64 + i] = 0.0;
    x[4 * 64 + i] = i % 2 == 0 ? 1e-38 : 0.0;
  }
  for (const CpuIsa isa : isas_here()) {
    const auto y = join(run_on(*cpu_backend(isa, 2, CpuCompute::kNative), op_case), op_case.graph.output);
    const std::vector<double> bias = op_case.weights[1].row(0);
    for (size_t n = 0; n < 20; ++n) {
      EXPECT_TRUE(std::isfinite(y[n]));
      EXPECT_TRUE(std::isnan(y[20 + n])) << y[20 + n];
      EXPECT_TRUE(std::isnan(y[40 + n])) << y[40 + n];
      EXPECT_EQ(y[60 + n], bias[n]);
      EXPECT_EQ(y[80 + n], bias[n]);
      EXPECT_TRUE(std::isfinite(y[100 + n]));
    }
  }
}

TEST(CpuNative, KernelNamesTellTheArithmetic) {
  const OpCase op_case = linear_case({FormatKind::kQ8_0}, 4, 64, 8);
  const auto backend = cpu_backend(CpuIsa::kAvx2, 2, CpuCompute::kNative);
  std::vector<PackedWeight> weights;
  for (const HostWeight& w : op_case.weights)
    weights.push_back(std::move(backend->pack(w.view(), "w")).value());
  const auto choice = backend->choose({&op_case.graph, weights, {.n_tokens = 4}}, op_case.graph.nodes[0]);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->kernel, "avx2_linear_q8_0_s8r");
}

}  // namespace
}  // namespace skua::test
