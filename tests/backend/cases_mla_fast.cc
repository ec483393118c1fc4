// Cases of latent attention that may decompress: lengths around pages and splits, odd widths, sequences of
// few and of many tokens in one step.
#include <cmath>
#include <string>

#include "backend/cases.h"

namespace skua::test {

std::vector<OpCase> mla_fast_cases(int32_t min_tokens) {
  struct Shape {
    int32_t n_heads, rank, rope, nope, v_dim;
  };
  std::vector<OpCase> out;
  for (const Shape& s : {Shape{4, 32, 16, 24, 20}, {1, 17, 6, 5, 3}, {16, 48, 8, 16, 32}}) {
    for (const int32_t first : {1, 66, 300}) {
      CaseBuilder b("mla_fast_attention " + std::to_string(s.n_heads) + " heads, " + std::to_string(s.rank) +
                    " + " + std::to_string(s.rope) + ", from " + std::to_string(first) +
                    ", decompressed at " + std::to_string(min_tokens));
      const SlotId slot = b.slot({SlotKind::kLatent, 0, 1, s.rope, s.rank, 0, DType::kF32});
      const ValueId kpe = b.input(s.rope), ckv = b.input(s.rank);
      const ValueId q_nope = b.input(int64_t{s.n_heads} * s.nope),
                    q_pe = b.input(int64_t{s.n_heads} * s.rope);
      b.node(KvWrite{slot}, {kpe, ckv});
      MlaFastAttention op{.slot = slot, .n_heads = s.n_heads, .min_tokens = min_tokens};
      op.up_keys = b.weight(random_weight({FormatKind::kBF16}, int64_t{s.n_heads} * s.rank, s.nope, 0.5, 86));
      op.up_values =
          b.weight(random_weight({FormatKind::kBF16}, int64_t{s.n_heads} * s.v_dim, s.rank, 0.5, 87));
      op.scale = static_cast<float>(1.0 / std::sqrt(s.nope + s.rope));
      b.node(op, {q_nope, q_pe});
      const std::vector<int32_t> pages{3, 1, 4, 0, 2, 7};
      b.step({{first, first, pages}, {5, 5, {5}}}, 88, 2.0);
      b.step({{1, first + 1, pages}, {0, 5, {5}}, {30, 30, {6}}}, 89, 2.0);
      b.step({{30, first + 31, pages}, {1, 6, {5}}}, 90, 2.0);
      out.push_back(b.take());
    }
  }
  return out;
}

std::vector<OpCase> mla_fast_cases() {
  std::vector<OpCase> out = mla_fast_cases(1);
  for (OpCase& op_case : mla_fast_cases(1 << 20)) out.push_back(std::move(op_case));
  return out;
}

}  // namespace skua::test
