// Helpers of the CPU backend's tests.
#include "backend/cpu/cpu_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "backend/cases.h"
#include "backend/cpu/panels.h"

namespace skua::test {

std::vector<CpuIsa> isas_here() {
  std::vector<CpuIsa> out;
  for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512}) {
    if (const auto resolved = resolve_cpu_isa(isa); resolved.ok()) {
      out.push_back(isa);
    } else {
      std::printf("not tested: %s\n", resolved.status().message().c_str());
    }
  }
  return out;
}

std::unique_ptr<Backend> cpu_backend(CpuIsa isa, int n_threads, CpuCompute compute) {
  return std::move(make_cpu_backend({.n_threads = n_threads, .isa = isa, .compute = compute})).value();
}

std::vector<StepValues> run_on(Backend& backend, const OpCase& op_case, const HarnessOptions& options) {
  auto result = run_case(backend, op_case, options);
  EXPECT_TRUE(result.ok()) << op_case.name << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : std::vector<StepValues>(op_case.steps.size());
}

void expect_same(const OpCase& op_case, const std::vector<StepValues>& a, const std::vector<StepValues>& b,
                 const std::string& what) {
  if (testing::Test::HasFailure()) return;
  for (const Node& node : op_case.graph.nodes) {
    for (const ValueId id : node.outputs) {
      EXPECT_EQ(first_difference(join(a, id), join(b, id)), -1) << op_case.name << ", " << what;
    }
  }
}

OpCase linear_case(const Format& format, int32_t tokens, int64_t cols, int64_t rows) {
  CaseBuilder b("linear " + format_name(format) + " " + std::to_string(tokens) + " x " +
                std::to_string(cols) + " x " + std::to_string(rows));
  const ValueId x = b.input(cols);
  Linear op{b.weight(random_weight(format, rows, cols, 0.5, 31)), {}};
  op.bias = b.weight(random_weight({FormatKind::kF32}, 1, rows, 2.0, 32));
  b.node(op, {x});
  b.step(tokens, 33);
  return b.take();
}

OpCase attention_case(const AttentionShape& shape, const std::vector<int32_t>& lengths) {
  CaseBuilder b("attention in " + std::to_string(lengths.size()) + " chunks");
  const ValueId q = b.input(int64_t{shape.n_heads} * shape.k_dim);
  const ValueId k = b.input(int64_t{shape.n_kv_heads} * shape.k_dim);
  const ValueId v = b.input(int64_t{shape.n_kv_heads} * shape.v_dim);
  const SlotId slot = b.slot({.kind = SlotKind::kFull,
                              .n_kv_heads = shape.n_kv_heads,
                              .k_dim = shape.k_dim,
                              .v_dim = shape.v_dim,
                              .storage = shape.cache});
  b.node(KvWrite{slot}, {k, v});
  const float scale = 2.0f / std::sqrt(static_cast<float>(shape.k_dim));
  Attention attention{slot, shape.n_heads, scale, shape.window, shape.softcap, shape.chunk};
  if (shape.sinks > 0)
    attention.sinks = b.weight(random_weight({FormatKind::kF32}, 1, shape.n_heads, shape.sinks, 39));
  b.node(attention, {q});
  const int32_t total = std::accumulate(lengths.begin(), lengths.end(), 0);
  std::vector<int32_t> pages(static_cast<size_t>(total / kPageTokens + 1));
  std::iota(pages.begin(), pages.end(), 0);
  int32_t kv_len = 0;
  uint64_t seed = 40;
  for (const int32_t length : lengths) b.step({{length, kv_len += length, pages}}, seed++, 3.0);
  return b.take();
}

std::vector<OpCase> matrix_cases() {
  std::vector<OpCase> out;
  for (auto table : {linear_cases, row_cases, rope_cases, attention_cases, moe_cases, mla_cases,
                     +[] { return mla_fast_cases(); }}) {
    for (OpCase& op_case : table()) out.push_back(std::move(op_case));
  }
  return out;
}

namespace {

/// Bytes of a block, and which of them hold codes.
struct CodeBytes {
  size_t block = 1, begin = 0, end = 1;
};

CodeBytes code_bytes(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kIQ4_NL:
      return {18, 2, 18};
    case FormatKind::kQ4_1:
      return {20, 4, 20};
    case FormatKind::kQ5_0:
      return {22, 2, 22};
    case FormatKind::kQ5_1:
      return {24, 4, 24};
    case FormatKind::kQ8_0:
      return {34, 2, 34};
    case FormatKind::kQ2_K:
      return {84, 16, 80};
    case FormatKind::kQ3_K:
      return {110, 0, 96};
    case FormatKind::kQ4_K:
      return {144, 16, 144};
    case FormatKind::kQ5_K:
      return {176, 16, 176};
    case FormatKind::kQ6_K:
      return {210, 0, 192};
    case FormatKind::kIQ4_XS:
      return {136, 8, 136};
    case FormatKind::kMxfp4Block:
      return {17, 1, 17};
    default:
      return {};  // codes have a plane of their own
  }
}

}  // namespace

void fill_codes(HostWeight& weight, uint8_t byte) {
  const CodeBytes at = code_bytes(weight.format.kind);
  for (size_t i = 0; i < weight.planes[0].size(); ++i) {
    if (i % at.block >= at.begin && i % at.block < at.end) weight.planes[0][i] = std::byte{byte};
  }
}

HostWeight without_codes(HostWeight weight) {
  fill_codes(weight, 0);
  return weight;
}

double panel_depth(const Format& format, int64_t cols) {
  const int64_t group = std::min<int64_t>(cpu::panel_format(format)->group_cols, cpu::kPanelCols);
  const int64_t n_blocks = cols / cpu::kPanelCols;
  const int64_t n_products = cols / group + cpu::n_refined(n_blocks) * (cpu::kPanelCols / group);
  return 2.0 * static_cast<double>(n_products) + 8.0;
}

namespace {

/// Numbers [begin, end) to the high parts of their codes, or to all of them.
void round_block(const std::vector<double>& x, size_t begin, bool refined, std::vector<double>& out) {
  float amax = 0;
  for (size_t i = begin; i < begin + 32; ++i) amax = std::max(amax, std::abs(static_cast<float>(x[i])));
  if (amax < 0x1p-100f) return;
  const float scale = amax / 16256.0f, inverse = 16256.0f / amax;
  for (size_t i = begin; i < begin + 32; ++i) {
    const double code = std::nearbyint(static_cast<float>(x[i]) * inverse);
    out[i] = double{scale} * (refined ? code : 128 * std::floor((code + 64) / 128));
  }
}

}  // namespace

std::vector<size_t> refined_blocks(const std::vector<double>& x, size_t begin, size_t n_blocks) {
  std::vector<double> amax(n_blocks);
  for (size_t b = 0; b < n_blocks; ++b) {
    for (size_t i = 0; i < 32; ++i) amax[b] = std::max(amax[b], std::abs(x[begin + 32 * b + i]));
  }
  std::vector<size_t> order(n_blocks);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return amax[a] > amax[b]; });
  order.resize((3 * n_blocks + 15) / 16);
  return order;
}

std::vector<double> quantized(const std::vector<double>& x, int64_t cols) {
  std::vector<double> out(x.size());
  const auto width = static_cast<size_t>(cols);
  for (size_t row = 0; row < x.size(); row += width) {
    for (size_t run = 0; run < width; run += 16 * 32) {
      const size_t n_blocks = std::min<size_t>(16, (width - run) / 32);
      const std::vector<size_t> refined = refined_blocks(x, row + run, n_blocks);
      for (size_t b = 0; b < n_blocks; ++b) {
        const bool is_refined = std::find(refined.begin(), refined.end(), b) != refined.end();
        round_block(x, row + run + 32 * b, is_refined, out);
      }
    }
  }
  return out;
}

}  // namespace skua::test
