// Experts with rounded activations, judged per element against float64 on the operands that the kernel saw:
// the dequantized weights and activations. The hidden layer is quantized too, from values that the kernel
// knows only up to its own rounding; where that leaves a code open, the bound grows by that many steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "backend/cpu/cpu_cases.h"
#include "backend/cpu/panels.h"

namespace skua::test {
namespace {

using Values = std::vector<double>;
constexpr double kU = 0x1p-24;

/// Numbers and how far the kernel's may lie from them.
struct Judged {
  Values value, error;
};

/// Rows of a weight, decoded once; `offset` is what a code of 0 stands for.
struct Rows {
  std::vector<Values> value, magnitude;  // |w| + 2 |offset|: what a product's parts add up to
  double depth;                          // roundings of a sum

  explicit Rows(const HostWeight& w) : depth(panel_depth(w.format, w.cols)) {
    const HostWeight zero = without_codes(w);
    const bool has_offset = cpu::panel_format(w.format)->has_offset;
    for (int64_t r = 0; r < w.rows; ++r) {
      value.push_back(w.row(r));
      Values sum = value.back();
      const Values offset = has_offset ? zero.row(r) : Values(sum.size());
      for (size_t k = 0; k < sum.size(); ++k) sum[k] = std::abs(sum[k]) + 2 * std::abs(offset[k]);
      magnitude.push_back(std::move(sum));
    }
  }
};

/// One block of hidden activations; refined, not, or perhaps (then its remainder counts as an error).
enum class Refined { kNo, kYes, kPerhaps };
void round_hidden(const Judged& x, size_t begin, Refined refined, Judged& out) {
  double amax = 0, amax_error = 0;
  for (size_t i = begin; i < begin + 32; ++i) {
    amax = std::max(amax, std::abs(x.value[i]));
    amax_error = std::max(amax_error, x.error[i]);
  }
  if (amax == 0) return;
  const double unit = refined == Refined::kNo ? 128 : 1;
  const auto rounded = [&](double ratio) {
    const double code = std::nearbyint(ratio);
    return refined == Refined::kNo ? 128 * std::floor((code + 64) / 128) : code;
  };
  const double scale = amax / 16256.0, scale_error = amax_error / 16256.0 + 2 * kU * scale;
  for (size_t i = begin; i < begin + 32; ++i) {
    const double ratio = x.value[i] / scale, code = rounded(ratio);
    const double around = x.error[i] / scale + std::abs(ratio) * (amax_error / amax + 4 * kU);
    const double steps = std::max(rounded(ratio + around) - code, code - rounded(ratio - around));
    out.value[i] = scale * code;
    out.error[i] =
        scale * (steps + (refined == Refined::kPerhaps ? 64 : 0)) + (std::abs(code) + unit) * scale_error;
  }
}

/// Hidden activations, rounded as quantized() rounds them.
Judged quantized_hidden(const Judged& x) {
  Judged out{Values(x.value.size()), Values(x.value.size())};
  for (size_t run = 0; run < x.value.size(); run += 512) {
    const size_t n_blocks = std::min<size_t>(512, x.value.size() - run) / 32;
    Values amax(n_blocks), error(n_blocks);
    for (size_t i = 0; i < 32 * n_blocks; ++i) {
      amax[i / 32] = std::max(amax[i / 32], std::abs(x.value[run + i]));
      error[i / 32] = std::max(error[i / 32], x.error[run + i]);
    }
    const size_t n_refined = (3 * n_blocks + 15) / 16;
    for (size_t b = 0; b < n_blocks; ++b) {
      size_t surely_larger = 0, perhaps_larger = 0;
      for (size_t o = 0; o < n_blocks; ++o) {
        if (o == b) continue;
        surely_larger += amax[o] - error[o] > amax[b] + error[b] ? 1 : 0;
        perhaps_larger += amax[o] + error[o] >= amax[b] - error[b] ? 1 : 0;
      }
      const Refined refined = surely_larger >= n_refined   ? Refined::kNo
                              : perhaps_larger < n_refined ? Refined::kYes
                                                           : Refined::kPerhaps;
      round_hidden(x, run + 32 * b, refined, out);
    }
  }
  return out;
}

struct Product {
  double value = 0, error = 0;
};

Product product(const Rows& rows, int64_t row, const Judged& x) {
  const Values &w = rows.value[static_cast<size_t>(row)], &m = rows.magnitude[static_cast<size_t>(row)];
  Product out;
  double sum = 0;
  for (size_t k = 0; k < w.size(); ++k) {
    out.value += x.value[k] * w[k];
    sum += std::abs(x.value[k]) * m[k];
    out.error += x.error[k] * std::abs(w[k]);
  }
  out.error += rows.depth * kU * sum;
  return out;
}

/// silu(g) u with its error; |silu'| <= 1.1.
Product gated(const Product& g, const Product& u) {
  const double y = g.value / (1 + std::exp(-g.value)) * u.value;
  return {y, 1.13 * std::abs(u.value) * g.error + std::abs(g.value) * u.error + 1.13 * g.error * u.error +
                 14 * kU * std::abs(g.value * u.value)};
}

struct Shape {
  Format format;
  int32_t n_tokens = 9;
  int64_t d = 256, d_ff = 256;
  int32_t n_experts = 5, top_k = 2;
  int32_t only = -1;  // every token goes to this expert alone
};

OpCase experts_case(const Shape& s) {
  CaseBuilder b("native experts " + format_name(s.format) + " " + std::to_string(s.n_tokens));
  const ValueId x = b.input(s.d), routing = b.input(s.n_experts);
  MoeExperts op;
  op.gate = b.weight(random_weight(s.format, s.n_experts * s.d_ff, s.d, 0.2, 31));
  op.up = b.weight(random_weight(s.format, s.n_experts * s.d_ff, s.d, 0.2, 32));
  op.down = b.weight(random_weight(s.format, s.n_experts * s.d, s.d_ff, 0.2, 33));
  op.n_experts = s.n_experts;
  op.top_k = s.top_k;
  b.node(op, {x, routing});
  Values& weights = b.step(s.n_tokens, 34).inputs[routing.value()];
  weights.assign(static_cast<size_t>(s.n_tokens * s.n_experts), 0.0);
  Random random(35);
  for (int32_t t = 0; t < s.n_tokens; ++t) {
    for (int32_t k = 0; k < s.top_k; ++k) {
      const int64_t e = s.only >= 0 ? s.only : s.top_k == s.n_experts ? k : random.below(s.n_experts);
      weights[static_cast<size_t>(t * s.n_experts + e)] =
          double{static_cast<float>(0.3 + 0.1 * random.uniform())};
    }
  }
  return b.take();
}

struct Weights {
  Rows gate, up, down;
};

/// One token's output with its bound.
Judged expected(const Shape& s, const Weights& w, const double* x, const double* routing) {
  const auto d = static_cast<size_t>(s.d);
  const Judged in{quantized(Values(x, x + s.d), s.d), Values(d)};
  Judged out{Values(d), Values(d)};
  Values sum(d);
  for (int64_t e = 0; e < s.n_experts; ++e) {
    if (routing[e] == 0) continue;
    Judged hidden;
    for (int64_t i = 0; i < s.d_ff; ++i) {
      const Product h = gated(product(w.gate, e * s.d_ff + i, in), product(w.up, e * s.d_ff + i, in));
      hidden.value.push_back(h.value);
      hidden.error.push_back(h.error);
    }
    hidden = quantized_hidden(hidden);
    for (size_t i = 0; i < d; ++i) {
      const Product part = product(w.down, e * s.d + static_cast<int64_t>(i), hidden);
      out.value[i] += routing[e] * part.value;
      sum[i] += std::abs(routing[e] * part.value);
      out.error[i] += routing[e] * part.error + 4 * kU * sum[i];
    }
  }
  return out;
}

struct Verdicts {
  double worst = 0;   // error over bound
  double widest = 0;  // bound over the largest output
  int64_t n_elements = 0;
};

Verdicts judge_native(const Shape& s, const OpCase& op_case, const Values& got) {
  const Weights w{Rows(op_case.weights[0]), Rows(op_case.weights[1]), Rows(op_case.weights[2])};
  const Values &x = op_case.steps[0].inputs.at(0), &routing = op_case.steps[0].inputs.at(1);
  Verdicts out;
  double largest = 0, bound = 0;
  for (int64_t t = 0; t < s.n_tokens; ++t) {
    const double* row = &got[static_cast<size_t>(t * s.d)];
    const Judged token =
        expected(s, w, &x[static_cast<size_t>(t * s.d)], &routing[static_cast<size_t>(t * s.n_experts)]);
    for (size_t i = 0; i < token.value.size(); ++i) {
      const double error = std::abs(row[i] - token.value[i]), allowed = token.error[i];
      const double ratio = error / std::max(allowed, 1e-300);
      out.worst = std::max(out.worst, std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
      largest = std::max(largest, std::abs(token.value[i]));
      bound = std::max(bound, allowed);
      ++out.n_elements;
    }
  }
  out.widest = bound / largest;
  return out;
}

void expect_within(const Shape& s) {
  const OpCase op_case = experts_case(s);
  for (const CpuIsa isa : isas_here()) {
    const auto backend = cpu_backend(isa, 2, CpuCompute::kNative);
    const Verdicts v = judge_native(s, op_case, join(run_on(*backend, op_case), op_case.graph.output));
    std::printf("  %s, %s: %lld elements, worst error/bound %.3f, widest bound %.1e of the largest output\n",
                op_case.name.c_str(), std::string(cpu_isa_name(isa)).c_str(),
                static_cast<long long>(v.n_elements), v.worst, v.widest);
    EXPECT_LE(v.worst, 1.0) << op_case.name;
    // One code that may fall on either side of a border counts a step, amax / 127.
    EXPECT_LE(v.widest, 1e-2) << "a bound so wide proves little";
  }
}

constexpr Format kAffine4{FormatKind::kAffine, 4, 64, DType::kBF16};

TEST(NativeExperts, StayWithinTheBoundOfFloat64) {
  for (const Format& format :
       {Format{FormatKind::kQ8_0}, Format{FormatKind::kQ4_0}, Format{FormatKind::kQ4_1}, kAffine4,
        Format{FormatKind::kAffine, 8, 32, DType::kF16}})
    expect_within({.format = format, .d = 128, .d_ff = 64});
  for (const FormatKind kind : {FormatKind::kQ2_K, FormatKind::kQ3_K, FormatKind::kQ4_K, FormatKind::kQ5_K,
                                FormatKind::kQ6_K, FormatKind::kIQ4_XS})
    expect_within({.format = {kind}});
  for (const FormatKind kind : {FormatKind::kIQ4_NL, FormatKind::kMxfp4Block, FormatKind::kMxfp4})
    expect_within({.format = {kind}, .d = 128, .d_ff = 64});
}

TEST(NativeExperts, OneToken) {
  expect_within({.format = kAffine4, .n_tokens = 1, .d_ff = 64});
  expect_within({.format = {FormatKind::kQ4_K}, .n_tokens = 1});
  expect_within({.format = {FormatKind::kMxfp4}, .n_tokens = 1, .d_ff = 64});
}

TEST(NativeExperts, AllTokensToOneAndTheOthersUnused) {
  expect_within({.format = kAffine4, .n_tokens = 70, .d = 128, .d_ff = 64, .top_k = 1, .only = 3});
}

TEST(NativeExperts, MoreThan65535Pairs) {
  expect_within({.format = {FormatKind::kQ8_0}, .n_tokens = 13200, .d = 32, .d_ff = 32, .top_k = 5});
}

/// The weight with each expert's rows and columns filled up with zeros; plain weights and Q8_0.
HostWeight padded(const HostWeight& w, int64_t n_experts, int64_t rows, int64_t cols) {
  const bool plain = w.format.is_plain();
  const auto row_bytes = [&](int64_t n) { return static_cast<size_t>(plain ? 4 * n : 34 * n / 32); };
  HostWeight out{w.format, n_experts * rows, cols, {}};
  out.planes[0].assign(static_cast<size_t>(out.rows) * row_bytes(cols), std::byte{0});
  for (int64_t r = 0; r < w.rows; ++r) {
    const int64_t from_rows = w.rows / n_experts, to = r / from_rows * rows + r % from_rows;
    std::copy_n(w.planes[0].begin() + r * static_cast<int64_t>(row_bytes(w.cols)), row_bytes(w.cols),
                out.planes[0].begin() + to * static_cast<int64_t>(row_bytes(cols)));
  }
  return out;
}

/// Experts whose rows fill no panel: an expert starts in the middle of one.
struct OddShape {
  Format outer{FormatKind::kF32}, inner{FormatKind::kF32};  // of gate and up; of down
  int64_t d = 64, d_ff = 64;
};

Values run_odd(const OddShape& s, int64_t pad_d, int64_t pad_ff, CpuIsa isa) {
  constexpr int32_t kTokens = 11, kExperts = 3;
  CaseBuilder b("odd experts");
  const ValueId x = b.input(pad_d), routing = b.input(kExperts);
  MoeExperts op;
  op.gate =
      b.weight(padded(random_weight(s.outer, kExperts * s.d_ff, s.d, 0.2, 51), kExperts, pad_ff, pad_d));
  op.up = b.weight(padded(random_weight(s.outer, kExperts * s.d_ff, s.d, 0.2, 52), kExperts, pad_ff, pad_d));
  op.down =
      b.weight(padded(random_weight(s.inner, kExperts * s.d, s.d_ff, 0.2, 53), kExperts, pad_d, pad_ff));
  op.n_experts = kExperts;
  op.top_k = 2;
  b.node(op, {x, routing});
  auto& inputs = b.step(kTokens, 54).inputs;
  Random random(55);
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t i = 0; i < pad_d; ++i) {
      inputs[x.value()][static_cast<size_t>(t * pad_d + i)] =
          i < s.d ? double{static_cast<float>(random.uniform())} : 0.0;
    }
    for (int64_t e = 0; e < kExperts; ++e)
      inputs[routing.value()][static_cast<size_t>(t * kExperts + e)] = e == t % kExperts ? 0.0 : 0.5;
  }
  const OpCase op_case = b.take();
  const Values all = join(run_on(*cpu_backend(isa, 2, CpuCompute::kNative), op_case), op_case.graph.output);
  Values out;
  for (int64_t t = 0; t < kTokens; ++t)
    out.insert(out.end(), all.begin() + t * pad_d, all.begin() + t * pad_d + s.d);
  return out;
}

TEST(NativeExperts, RowsThatFillNoPanelGiveTheBytesOfFullPanels) {
  for (const auto& [shape, pad_d, pad_ff] :
       {std::tuple{OddShape{.outer = {FormatKind::kQ8_0}, .d_ff = 40}, 64, 48},
        {OddShape{.outer = {FormatKind::kQ8_0}, .d_ff = 5}, 64, 16},
        {OddShape{.inner = {FormatKind::kQ8_0}, .d = 44}, 48, 64}}) {
    for (const CpuIsa isa : isas_here()) {
      const Values odd = run_odd(shape, shape.d, shape.d_ff, isa), full = run_odd(shape, pad_d, pad_ff, isa);
      EXPECT_EQ(first_difference(odd, full), -1) << shape.d << ", " << shape.d_ff;
      EXPECT_NE(odd[0], odd[1]);
    }
  }
}

}  // namespace
}  // namespace skua::test
