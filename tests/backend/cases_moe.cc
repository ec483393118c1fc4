// Cases of routers and experts: ties, biases, groups, one expert for all, experts that nobody chose, many
// pairs.
#include <cmath>
#include <string>

#include "backend/cases.h"

namespace skua::test {
namespace {

constexpr Format kBf16{FormatKind::kBF16};

struct RouterShape {
  std::string name;
  int32_t n_tokens = 5;
  int64_t d = 40;
  int64_t n_experts = 8;
  bool bias = false, selection_bias = false, expert_scale = false;
};

OpCase router(const RouterShape& shape, MoeRouter op) {
  CaseBuilder b("moe_router " + shape.name + " " + std::to_string(shape.n_tokens) + " x " +
                std::to_string(shape.d) + " x " + std::to_string(shape.n_experts));
  const ValueId x = b.input(shape.d);
  op.weight = b.weight(random_weight(kBf16, shape.n_experts, shape.d, 0.6, 61));
  const auto vector = [&](uint64_t seed) {
    return b.weight(random_weight({FormatKind::kF32}, 1, shape.n_experts, 0.7, seed));
  };
  if (shape.bias) op.bias = vector(62);
  if (shape.selection_bias) op.selection_bias = vector(63);
  if (shape.expert_scale) op.expert_scale = vector(64);
  b.node(op, {x});
  b.step(shape.n_tokens, 65);
  return b.take();
}

/// Every expert has the same row: all logits are equal, and the lowest indices win.
OpCase tied_router(RouterScore score) {
  CaseBuilder b("moe_router all tied");
  const ValueId x = b.input(24);
  std::vector<double> values;
  for (int64_t i = 0; i < 9 * 24; ++i) values.push_back(0.125 * static_cast<double>(i % 24 % 5) - 0.25);
  MoeRouter op{.weight = b.weight(plain_weight(DType::kF32, 9, 24, values)), .score = score, .top_k = 3};
  op.normalize = MoeRouter::Normalize::kYes;
  b.node(op, {x});
  b.step(4, 66);
  return b.take();
}

struct ExpertShape {
  std::string name;
  int32_t n_tokens = 5;
  int64_t d = 24;
  int64_t d_ff = 20;
  int32_t n_experts = 6;
  int32_t top_k = 2;
  int32_t n_identity = 0;
  Format format = {FormatKind::kBF16};
  bool biases = false;
  float limit = 0.0f;
  MoeExperts::Weigh weigh = MoeExperts::Weigh::kOutput;
  int32_t only = -1;  // every token goes to this expert alone
};

OpCase experts(const ExpertShape& s) {
  CaseBuilder b("moe_experts " + s.name + " " + format_name(s.format) + " " + std::to_string(s.n_tokens) +
                " x " + std::to_string(s.d) + " x " + std::to_string(s.d_ff) + ", " +
                std::to_string(s.top_k) + " of " + std::to_string(s.n_experts + s.n_identity));
  const int64_t n = s.n_experts, n_all = n + s.n_identity;
  const ValueId x = b.input(s.d);
  const ValueId routing = b.input(n_all);
  MoeExperts op;
  op.gate = b.weight(random_weight(s.format, n * s.d_ff, s.d, 0.5, 71));
  op.up = b.weight(random_weight(s.format, n * s.d_ff, s.d, 0.5, 72));
  op.down = b.weight(random_weight(s.format, n * s.d, s.d_ff, 0.5, 73));
  if (s.biases) {
    op.gate_bias = b.weight(random_weight({FormatKind::kF32}, 1, n * s.d_ff, 1.0, 74));
    op.up_bias = b.weight(random_weight({FormatKind::kF32}, 1, n * s.d_ff, 1.0, 75));
    op.down_bias = b.weight(random_weight({FormatKind::kF32}, 1, n * s.d, 1.0, 76));
  }
  op.n_experts = s.n_experts;
  op.n_identity = s.n_identity;
  op.top_k = s.top_k;
  op.swiglu_limit = s.limit;
  op.weigh = s.weigh;
  b.node(op, {x, routing});
  CaseStep& step = b.step(s.n_tokens, 77);
  std::vector<double>& weights = step.inputs[routing.value()];
  Random random(78);
  for (int64_t t = 0; t < s.n_tokens; ++t) {
    for (int64_t e = 0; e < n_all; ++e) weights[static_cast<size_t>(t * n_all + e)] = 0.0;
    for (int32_t k = 0; k < s.top_k; ++k) {
      const int64_t e = s.only >= 0 ? s.only : random.below(n_all);
      weights[static_cast<size_t>(t * n_all + e)] = round_to(DType::kF32, 0.1 + std::abs(random.uniform()));
    }
  }
  return b.take();
}

}  // namespace

std::vector<OpCase> moe_cases() {
  using enum RouterScore;
  constexpr auto kYes = MoeRouter::Normalize::kYes;
  std::vector<OpCase> out;
  for (const int32_t n_tokens : {0, 1, 33}) {
    out.push_back(router({.name = "softmax", .n_tokens = n_tokens}, {.top_k = 2}));
    out.push_back(
        router({.name = "softmax normalised", .n_tokens = n_tokens, .d = 67, .n_experts = 37, .bias = true},
               {.top_k = 5, .normalize = kYes, .scale = 1.5f}));
    out.push_back(
        router({.name = "sigmoid biased", .n_tokens = n_tokens, .n_experts = 16, .selection_bias = true},
               {.score = kSigmoid, .top_k = 3, .normalize = kYes, .sum_eps = 1e-20f, .scale = 2.5f}));
  }
  out.push_back(router({.name = "groups", .n_tokens = 12, .n_experts = 16},
                       {.top_k = 3, .n_groups = 4, .top_k_groups = 2, .scale = 16.0f}));
  out.push_back(
      router({.name = "groups, sum of two", .n_tokens = 12, .n_experts = 24, .selection_bias = true},
             {.score = kSigmoid,
              .top_k = 4,
              .n_groups = 4,
              .top_k_groups = 2,
              .group_score = GroupScore::kTopTwoSum,
              .normalize = kYes}));
  out.push_back(router({.name = "expert scale", .expert_scale = true}, {.top_k = 8, .normalize = kYes}));
  out.push_back(router({.name = "one expert", .d = 1, .n_experts = 1}, {.top_k = 1}));
  out.push_back(tied_router(kSoftmax));
  out.push_back(tied_router(kSigmoid));
  for (const Format& format : all_formats()) {
    const int64_t block = std::max<int64_t>(block_cols(format), 32);
    out.push_back(experts({.name = "format", .d = block, .d_ff = block, .n_experts = 3, .format = format}));
  }
  for (const int32_t n_tokens : {0, 1, 70}) {
    out.push_back(experts({.name = "plain", .n_tokens = n_tokens}));
    out.push_back(
        experts({.name = "identity", .n_tokens = n_tokens, .n_experts = 3, .top_k = 3, .n_identity = 2}));
    out.push_back(experts({.name = "clamped, biased", .n_tokens = n_tokens, .biases = true, .limit = 0.8f}));
    out.push_back(experts({.name = "all to one", .n_tokens = n_tokens, .top_k = 1, .only = 4}));
  }
  out.push_back(experts({.name = "input weighed", .top_k = 1, .weigh = MoeExperts::Weigh::kInput}));
  out.push_back(experts({.name = "many experts", .n_tokens = 3, .n_experts = 130, .top_k = 9}));
  out.push_back(experts({.name = "smallest", .n_tokens = 2, .d = 1, .d_ff = 1, .n_experts = 1, .top_k = 1}));
  return out;
}

OpCase many_pairs_case() {
  return experts({.name = "many pairs", .n_tokens = 16400, .d = 4, .d_ff = 3, .n_experts = 5, .top_k = 5});
}

std::vector<OpCase> mla_cases() {
  struct Shape {
    int32_t n_heads, rank, rope;
  };
  std::vector<OpCase> out;
  for (const Shape& s : {Shape{4, 32, 16}, {1, 17, 6}, {16, 48, 8}, {3, 1, 2}}) {
    for (const int32_t first : {1, 66, 300}) {
      CaseBuilder b("mla_attention " + std::to_string(s.n_heads) + " heads, " + std::to_string(s.rank) +
                    " + " + std::to_string(s.rope) + ", from " + std::to_string(first));
      const SlotId slot = b.slot({SlotKind::kLatent, 0, 1, s.rope, s.rank, 0, DType::kF32});
      const ValueId kpe = b.input(s.rope), ckv = b.input(s.rank);
      const ValueId q_latent = b.input(int64_t{s.n_heads} * s.rank),
                    q_pe = b.input(int64_t{s.n_heads} * s.rope);
      b.node(KvWrite{slot}, {kpe, ckv});
      const auto scale = static_cast<float>(1.0 / std::sqrt(s.rank + s.rope));
      b.node(MlaAttention{slot, s.n_heads, scale}, {q_latent, q_pe});
      const std::vector<int32_t> pages{3, 1, 4, 0, 2, 7};
      b.step({{first, first, pages}, {5, 5, {5}}}, 81, 2.0);
      b.step({{1, first + 1, pages}, {0, 5, {5}}}, 82, 2.0);
      b.step({{9, first + 10, pages}, {1, 6, {5}}}, 83, 2.0);
      out.push_back(b.take());
    }
  }
  // Chosen positions, and attention over them alone: fewer, as many and more tokens than are chosen.
  for (const int32_t top_k : {1, 70, 303}) {
    CaseBuilder b("index_select of " + std::to_string(top_k));
    const SlotId keys = b.slot({SlotKind::kLatent, 0, 1, 6, 11, 0, DType::kF32});
    const SlotId latents = b.slot({SlotKind::kLatent, 0, 1, 4, 19, 0, DType::kF32});
    const ValueId k_rotated = b.input(6), k_rest = b.input(11), kpe = b.input(4), ckv = b.input(19);
    const ValueId q_rest = b.input(5 * 11), q_rotated = b.input(5 * 6), weights = b.input(5);
    const ValueId q_latent = b.input(3 * 19), q_pe = b.input(3 * 4);
    b.node(KvWrite{keys}, {k_rotated, k_rest});
    b.node(KvWrite{latents}, {kpe, ckv});
    const ValueId chosen = b.node(IndexSelect{keys, 5, top_k}, {q_rest, q_rotated, weights});
    b.node(MlaAttention{latents, 3, 0.2f, top_k}, {q_latent, q_pe, chosen});
    const std::vector<int32_t> pages{3, 1, 4, 0, 2, 7};
    b.step({{300, 300, pages}, {5, 5, {5}}}, 91, 2.0);
    b.step({{1, 301, pages}, {0, 5, {5}}}, 92, 2.0);
    b.step({{9, 310, pages}, {1, 6, {5}}}, 93, 2.0);
    out.push_back(b.take());
  }
  for (const int32_t n_tokens : {0, 1, 9}) {
    for (const Format& format : {Format{FormatKind::kBF16}, Format{FormatKind::kF32}}) {
      CaseBuilder b("head_linear " + format_name(format) + " " + std::to_string(n_tokens));
      const ValueId x = b.input(5 * 19);
      b.node(HeadLinear{b.weight(random_weight(format, 5 * 13, 19, 0.7, 84)), 5}, {x});
      b.step(n_tokens, 85);
      out.push_back(b.take());
    }
  }
  return out;
}

}  // namespace skua::test
