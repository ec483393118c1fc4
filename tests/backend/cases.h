// Case tables of the op matrix: sizes 0 and 1, tails, odd widths, several sequences, shared pages, extremes.
// Every backend must pass all of them; benches may time them.
#pragma once

#include <utility>
#include <vector>

#include "backend/op_case.h"

namespace skua::test {

std::vector<OpCase> linear_cases();     // linear, multi_linear, gated_linear over all formats
std::vector<OpCase> row_cases();        // embed, norms, add, act_mul, softcap, scale, gather_rows
std::vector<OpCase> rope_cases();       // rope_angles, rope
std::vector<OpCase> attention_cases();  // kv_write or rope_kv_write, then attention
std::vector<OpCase> scan_cases();       // causal_conv, ssm1, ssm2, gated_delta
std::vector<OpCase> moe_cases();        // moe_router, moe_experts
std::vector<OpCase> mla_cases();        // mla_attention over latent slots, head_linear
std::vector<OpCase> mla_fast_cases();   // mla_fast_attention, all decompressed or all absorbed
std::vector<OpCase> mla_fast_cases(int32_t min_tokens);
OpCase many_pairs_case();  // moe_experts with more than 65,535 (token, expert) pairs

/// Every format that a weight can have.
std::vector<Format> all_formats();

/// A fused op and its parts on the same operands; `same` pairs the values that must be equal as bytes.
struct FusedPair {
  OpCase parts, fused;
  std::vector<std::pair<ValueId, ValueId>> same;
};
std::vector<FusedPair> fused_pairs();

}  // namespace skua::test
