// Single kernels against independent numbers: decoded weights, norms of many sizes, rope angles far out,
// activations over their whole range.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cases.h"
#include "backend/cpu/cpu_cases.h"

namespace skua::test {
namespace {

std::vector<double> output_of(Backend& backend, const OpCase& op_case) {
  return join(run_on(backend, op_case), op_case.graph.output);
}

TEST(CpuKernels, EmbedDecodesEveryFormatExactly) {
  for (const Format& format : all_formats()) {
    CaseBuilder b("embed " + format_name(format));
    HostWeight weight = random_weight(format, 37, 768, 1.0, 3);
    b.node(Embed{b.weight(weight), 1.0f}, {});
    CaseStep& step = b.step(37, 1);
    for (int32_t t = 0; t < 37; ++t) step.ids.push_back(36 - t);
    const OpCase op_case = b.take();
    for (const CpuIsa isa : isas_here()) {
      const std::vector<double> got = output_of(*cpu_backend(isa, 2), op_case);
      for (int64_t t = 0; t < 37; ++t) {
        const std::vector<double> row(got.begin() + t * 768, got.begin() + (t + 1) * 768);
        ASSERT_EQ(first_difference(row, weight.row(36 - t)), -1) << op_case.name << ", row " << t;
      }
    }
  }
}

TEST(CpuKernels, RmsNormOfEverySize) {
  std::vector<int64_t> sizes;
  for (int64_t n = 1; n <= 640; ++n) sizes.push_back(n);
  for (int64_t n = 704; n <= 8192; n += 416) sizes.push_back(n + n % 3);
  const auto backend = cpu_backend(CpuIsa::kAuto, 1);
  double worst = 0;
  for (const int64_t n : sizes) {
    CaseBuilder b("rms_norm " + std::to_string(n));
    const HostWeight weight = random_weight({FormatKind::kF32}, 1, n, 1.0, 8);
    b.node(RmsNorm{b.weight(weight), 1e-6f, 1.0f, 1}, {b.input(n)});
    b.step(1, static_cast<uint64_t>(n));
    const OpCase op_case = b.take();
    const std::vector<double>& x = op_case.steps[0].inputs.at(0);
    const std::vector<double> w = weight.row(0), y = output_of(*backend, op_case);
    double mean = 0;
    for (const double v : x) mean += v * v;
    const double rms = std::sqrt(mean / static_cast<double>(n) + double{1e-6f});
    for (size_t i = 0; i < y.size(); ++i) {
      const double exact = x[i] / rms * (w[i] + 1.0);
      const double bound = 0x1p-24 * (std::abs(exact) + 8 * std::abs(x[i] / rms) * (std::abs(w[i]) + 1.0));
      worst = std::max(worst, std::abs(y[i] - exact) / bound);
      ASSERT_LE(std::abs(y[i] - exact), bound) << "size " << n << ", element " << i;
    }
  }
  std::printf("  worst error/bound %.3f over %zu sizes\n", worst, sizes.size());
}

TEST(CpuKernels, RopeAnglesAreRoundedOnceUpToMillions) {
  RopeAngles op;
  for (int i = 0; i < 48; ++i) op.inv_freq.push_back(std::pow(10000.0, -i / 48.0));
  op.attention_factor = 1.25;
  CaseBuilder b("rope_angles far out");
  b.node(op, {});
  CaseStep& step = b.step(9, 1);
  step.positions = {0, 1, 2, 63, 131071, 131072, 4194303, 16777217, 2147483000};
  const std::vector<int32_t> positions = step.positions;
  const OpCase op_case = b.take();
  for (const CpuIsa isa : isas_here()) {
    const std::vector<double> y = output_of(*cpu_backend(isa, 2), op_case);
    for (size_t t = 0; t < positions.size(); ++t) {
      for (size_t i = 0; i < 48; ++i) {
        const long double angle = double{positions[t] * op.inv_freq[i]};
        const long double exact[2] = {1.25L * std::cos(angle), 1.25L * std::sin(angle)};
        for (size_t part = 0; part < 2; ++part) {
          const auto rounded = static_cast<double>(static_cast<float>(exact[part]));
          const double got = y[t * 96 + part * 48 + i];
          // One rounding; a tie that float64 could not decide may fall either way.
          EXPECT_LE(std::abs(static_cast<long double>(got) - exact[part]),
                    std::abs(exact[part]) * 0x1.0001p-24L + 0x1p-50L)
              << positions[t] << " * " << op.inv_freq[i] << ": " << got << ", expected " << rounded;
        }
      }
    }
  }
}

double exact_act(Act act, double x) {
  switch (act) {
    case Act::kSilu:
      return x / (1 + std::exp(-x));
    case Act::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Act::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Act::kRelu2:
      return x > 0 ? x * x : 0.0;
    case Act::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Act::kRelu:
      break;
  }
  return std::max(x, 0.0);
}

TEST(CpuKernels, ActivationsOverTheirWholeRange) {
  constexpr int32_t kWidth = 40001;
  for (const Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf, Act::kRelu, Act::kRelu2, Act::kSigmoid}) {
    CaseBuilder b(std::string(act_name(act)));
    const ValueId gate = b.input(kWidth), up = b.input(kWidth);
    b.node(ActMul{act}, {gate, up});
    CaseStep& step = b.step(1, 1);
    for (int32_t i = 0; i < kWidth; ++i) {
      step.inputs[0][static_cast<size_t>(i)] = static_cast<double>(static_cast<float>(i - 20000) * 0.001f);
      step.inputs[1][static_cast<size_t>(i)] = 1.0;
    }
    const OpCase op_case = b.take();
    const std::vector<double>& x = op_case.steps[0].inputs.at(0);
    const std::vector<double> y = output_of(*cpu_backend(CpuIsa::kAuto, 2), op_case);
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double exact = exact_act(act, x[i]);
      const double error = std::abs(y[i] - exact);
      // The first four are x times a number up to 1; the others are judged by their own size.
      const bool by_value = act == Act::kRelu2 || act == Act::kSigmoid;
      const double size = std::abs(by_value ? exact : x[i]);
      worst = std::max(worst, error / std::max(size, 1e-30) * 0x1p24);
      ASSERT_LE(error, 4 * 0x1p-24 * size) << act_name(act) << " of " << x[i] << " gave " << y[i];
    }
    std::printf("  %s: worst error %.2f u\n", std::string(act_name(act)).c_str(), worst);
  }
}

TEST(CpuKernels, SoftcapIsRelativelyExactNearZeroAndSaturates) {
  constexpr int32_t kWidth = 30001;
  CaseBuilder b("softcap");
  b.node(Softcap{50.0f}, {b.input(kWidth)});
  CaseStep& step = b.step(1, 1);
  for (int32_t i = 0; i < kWidth; ++i) {
    step.inputs[0][static_cast<size_t>(i)] =
        static_cast<double>(static_cast<float>(std::pow(1.002, i - 20000) * (i % 2 ? -1 : 1)));
  }
  const OpCase op_case = b.take();
  const std::vector<double> y = output_of(*cpu_backend(CpuIsa::kAuto, 1), op_case);
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double exact = 50.0 * std::tanh(op_case.steps[0].inputs.at(0)[i] / 50.0);
    worst = std::max(worst, std::abs(y[i] / exact - 1) * 0x1p24);
    ASSERT_LE(std::abs(y[i] - exact), 5 * 0x1p-24 * std::abs(exact)) << op_case.steps[0].inputs.at(0)[i];
  }
  std::printf("  worst error %.2f u\n", worst);
}

}  // namespace
}  // namespace skua::test
