// Cases of the matrix products.
#include <limits>
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

constexpr Format kF32Format{FormatKind::kF32};

struct Size {
  int32_t tokens;
  int64_t cols;
  int64_t rows;
};

std::string name_of(const std::string& op, const Format& format, const Size& size) {
  return op + " " + format_name(format) + " [" + std::to_string(size.tokens) + ", " +
         std::to_string(size.cols) + "] x " + std::to_string(size.rows);
}

OpCase one_linear(const Format& format, const Size& size, bool with_bias, double scale, uint64_t seed) {
  CaseBuilder b(name_of(with_bias ? "linear+bias" : "linear", format, size));
  const ValueId x = b.input(size.cols);
  Linear op{b.weight(random_weight(format, size.rows, size.cols, 0.5, seed)), {}};
  if (with_bias) op.bias = b.weight(random_weight(kF32Format, 1, size.rows, 2.0, seed + 1));
  b.node(op, {x});
  b.step(size.tokens, seed + 2, scale);
  return b.take();
}

OpCase multi(const Format& format, const Size& size, uint64_t seed) {
  CaseBuilder b(name_of("multi_linear", format, size));
  const ValueId x = b.input(size.cols);
  MultiLinear op;
  for (int64_t part = 0; part < 3; ++part) {
    const int64_t rows = part == 0 ? size.rows : size.rows / 3 + 1;
    Linear linear{b.weight(random_weight(format, rows, size.cols, 0.5, seed + static_cast<uint64_t>(part))),
                  {}};
    if (part != 1) linear.bias = b.weight(random_weight(kF32Format, 1, rows, 1.0, seed + 7));
    op.parts.push_back(linear);
  }
  b.node(op, {x});
  b.step(size.tokens, seed + 9);
  return b.take();
}

OpCase gated(const Format& format, const Size& size, Act act, bool with_bias, uint64_t seed) {
  CaseBuilder b(name_of("gated_linear " + std::string(act_name(act)), format, size));
  const ValueId x = b.input(size.cols);
  GatedLinear op;
  op.act = act;
  op.gate.weight = b.weight(random_weight(format, size.rows, size.cols, 0.5, seed));
  op.up.weight = b.weight(random_weight(format, size.rows, size.cols, 0.5, seed + 1));
  if (with_bias) {
    op.gate.bias = b.weight(random_weight(kF32Format, 1, size.rows, 1.0, seed + 2));
    op.up.bias = b.weight(random_weight(kF32Format, 1, size.rows, 1.0, seed + 3));
  }
  b.node(op, {x});
  b.step(size.tokens, seed + 4);
  return b.take();
}

/// Row 1 holds a NaN, row 2 an infinity, row 3 zeros: the other rows must not notice.
OpCase special_rows(const Format& format, bool with_infinity) {
  OpCase out = one_linear(format, {5, 256, 9}, false, 1.0, 77);
  out.name += with_infinity ? ", NaN and infinity" : ", NaN";
  std::vector<double>& x = out.steps[0].inputs[0];
  x[256 + 100] = std::numeric_limits<double>::quiet_NaN();
  if (with_infinity) x[2 * 256 + 255] = std::numeric_limits<double>::infinity();
  for (size_t i = 3 * 256; i < 4 * 256; ++i) x[i] = 0.0;
  return out;
}

}  // namespace

std::vector<Format> all_formats() {
  using enum FormatKind;
  std::vector<Format> out;
  for (FormatKind kind : {kF32, kF16, kBF16, kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K,
                          kQ6_K, kIQ4_NL, kIQ4_XS, kMxfp4Block, kMxfp4})
    out.push_back({kind});
  for (uint8_t bits : {2, 3, 4, 5, 6, 8}) {
    for (uint16_t group : {32, 64, 128}) out.push_back({kAffine, bits, group, DType::kBF16});
  }
  out.push_back({kAffine, 4, 64, DType::kF16});
  out.push_back({kAffine, 8, 32, DType::kF32});
  return out;
}

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> out;
  uint64_t seed = 1000;
  for (const Format& format : all_formats()) {
    const int64_t block = block_cols(format);
    std::vector<Size> sizes = {{0, block, 3},     {1, block, 1},      {1, 3 * block, 7},
                               {2, 2 * block, 8}, {3, 5 * block, 17}, {9, 3 * block, 33}};
    if (format.is_plain()) {
      sizes = {{0, 8, 3},   {1, 1, 1},   {1, 63, 7},   {2, 65, 8},    {3, 129, 17},
               {5, 31, 16}, {17, 96, 5}, {33, 257, 4}, {1, 1030, 66}, {4, 576, 192}};
    }
    for (const Size& size : sizes) out.push_back(one_linear(format, size, false, 1.0, seed += 10));
    out.push_back(
        one_linear(format, {4, 2 * block * (format.is_plain() ? 40 : 1), 10}, true, 1.0, seed += 10));
    out.push_back(multi(format, {2, 2 * block * (format.is_plain() ? 20 : 1), 12}, seed += 10));
    out.push_back(
        gated(format, {3, 2 * block * (format.is_plain() ? 20 : 1), 11}, Act::kSilu, false, seed += 10));
    out.push_back(special_rows(format, format.is_plain()));
  }
  for (Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf, Act::kRelu}) {
    out.push_back(gated(kF32Format, {5, 70, 13}, act, true, seed += 10));
  }
  out.push_back(one_linear(kF32Format, {2, 100, 9}, true, 1e18, seed += 10));
  out.push_back(one_linear(kF32Format, {2, 100, 9}, false, 1e-30, seed += 10));
  out.push_back(one_linear(kF32Format, {70, 130, 50}, true, 1.0, seed += 10));
  out.push_back(one_linear({FormatKind::kQ4_1}, {70, 160, 50}, false, 1.0, seed += 10));
  return out;
}

}  // namespace skua::test
