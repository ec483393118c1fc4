// What the CPU backend's own tests share: backends by instruction set, larger cases than the op matrix runs,
// and a comparison of all outputs as bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/op_harness.h"

namespace skua::test {

/// Instruction sets of this machine; prints those that it lacks.
std::vector<CpuIsa> isas_here();

std::unique_ptr<Backend> cpu_backend(CpuIsa isa, int n_threads, CpuCompute compute = CpuCompute::kF32);

/// Runs a case; a failure fails the test.
std::vector<StepValues> run_on(Backend& backend, const OpCase& op_case, const HarnessOptions& options = {});

/// Fails the test unless every output of every node has the same bytes.
void expect_same(const OpCase& op_case, const std::vector<StepValues>& a, const std::vector<StepValues>& b,
                 const std::string& what);

/// x [tokens, cols] times a weight of `format`, with a bias.
OpCase linear_case(const Format& format, int32_t tokens, int64_t cols, int64_t rows);

struct AttentionShape {
  int32_t n_heads = 9, n_kv_heads = 3, k_dim = 64, v_dim = 64, window = 0;
  float softcap = 0.0f;
  int32_t chunk = 0;
  double sinks = 0.0;  // size of the heads' sinks; 0 = none
  DType cache = DType::kF32;
};
/// One sequence of sum(lengths) tokens, in chunks of these lengths.
OpCase attention_case(const AttentionShape& shape, const std::vector<int32_t>& lengths);

/// The rule of quantized activations, written plainly: 32 columns at a time, scale amax / 16256; whole codes
/// in the refined blocks, multiples of 128 in the others.
std::vector<double> quantized(const std::vector<double>& x, int64_t cols);

/// Which of the n_blocks blocks of a run, which starts at x[begin], are refined: the 3/16 (rounded up) of the
/// largest numbers, the earlier of equals.
std::vector<size_t> refined_blocks(const std::vector<double>& x, size_t begin, size_t n_blocks);

/// Sets every byte of a quantized weight's codes; scales and minima stay.
void fill_codes(HostWeight& weight, uint8_t byte);

/// The weight with every code 0: its values are the offsets of formats that have one.
HostWeight without_codes(HostWeight weight);

/// Roundings that a sum over `cols` columns of a weight in panels goes through, and a few more.
double panel_depth(const Format& format, int64_t cols);

/// Every case table of the op matrix in one list.
std::vector<OpCase> matrix_cases();

}  // namespace skua::test
