// Fused ops beside their parts.
#include <cmath>

#include "backend/cases.h"

namespace skua::test {
namespace {

FusedPair add_norm(int32_t n_tokens, int64_t width) {
  FusedPair pair;
  const HostWeight w = random_weight({FormatKind::kBF16}, 1, width, 1.0, 3);
  CaseBuilder parts("add, rms_norm");
  CaseBuilder fused("add_rms_norm");
  RmsNorm norm{WeightId(0), 1e-5f, 1.0f, 1};
  for (CaseBuilder* b : {&parts, &fused}) {
    b->input(width);
    b->input(width);
    b->weight(w);
  }
  const ValueId sum = parts.node(Add{}, {ValueId(0), ValueId(1)});
  const ValueId normed = parts.node(norm, {sum});
  const ValueId first = fused.node(AddRmsNorm{norm}, {ValueId(0), ValueId(1)});
  pair.same = {{sum, first}, {normed, ValueId(first.value() + 1)}};
  for (CaseBuilder* b : {&parts, &fused}) b->step(n_tokens, 4, 2.0);
  pair.parts = parts.take();
  pair.fused = fused.take();
  return pair;
}

FusedPair multi(const Format& format, int32_t n_tokens, int64_t width) {
  FusedPair pair;
  CaseBuilder parts("linears");
  CaseBuilder fused("multi_linear");
  MultiLinear op;
  for (CaseBuilder* b : {&parts, &fused}) b->input(width);
  for (int64_t rows : {12, 5, 5}) {
    const HostWeight w = random_weight(format, rows, width, 0.5, static_cast<uint64_t>(rows));
    const HostWeight bias = random_weight({FormatKind::kF32}, 1, rows, 0.5, 9);
    Linear linear{parts.weight(w), parts.weight(bias)};
    fused.weight(w);
    fused.weight(bias);
    op.parts.push_back(linear);
  }
  const ValueId first = fused.node(op, {ValueId(0)});
  for (size_t i = 0; i < op.parts.size(); ++i) {
    pair.same.emplace_back(parts.node(op.parts[i], {ValueId(0)}),
                           ValueId(first.value() + static_cast<uint32_t>(i)));
  }
  for (CaseBuilder* b : {&parts, &fused}) b->step(n_tokens, 5);
  pair.parts = parts.take();
  pair.fused = fused.take();
  return pair;
}

FusedPair gated(const Format& format, int32_t n_tokens, int64_t width, Act act, DType product, DType out) {
  FusedPair pair;
  CaseBuilder parts("linear, linear, act_mul");
  CaseBuilder fused("gated_linear");
  const HostWeight gate = random_weight(format, 19, width, 0.5, 21);
  const HostWeight up = random_weight(format, 19, width, 0.5, 22);
  for (CaseBuilder* b : {&parts, &fused}) {
    b->input(width);
    b->weight(gate);
    b->weight(up);
  }
  const GatedLinear op{{WeightId(0), {}}, {WeightId(1), {}}, act, product};
  const ValueId g = parts.node(op.gate, {ValueId(0)}, product);
  const ValueId u = parts.node(op.up, {ValueId(0)}, product);
  pair.same = {{parts.node(ActMul{act}, {g, u}, out), fused.node(op, {ValueId(0)}, out)}};
  for (CaseBuilder* b : {&parts, &fused}) b->step(n_tokens, 6);
  pair.parts = parts.take();
  pair.fused = fused.take();
  return pair;
}

FusedPair rope_write(RopeStyle style, int32_t rot_dim, DType kv, DType cache) {
  constexpr int32_t kHeads = 2;
  constexpr int32_t kDim = 16;
  FusedPair pair;
  CaseBuilder parts("rope, kv_write, attention");
  CaseBuilder fused("rope_kv_write, attention");
  RopeAngles angles;
  for (int32_t i = 0; i < rot_dim / 2; ++i) angles.inv_freq.push_back(std::pow(10000.0, -2.0 * i / rot_dim));
  const Rope rope{kHeads, kDim, style};
  const Attention attention{SlotId(0), 4, 0.25f, 0, 0.0f};
  for (CaseBuilder* b : {&parts, &fused}) {
    b->slot({SlotKind::kFull, 0, kHeads, kDim, kDim, 0, cache});
    b->input(kHeads * kDim, kv);  // k
    b->input(kHeads * kDim, kv);  // v
    b->input(4 * kDim, kv);       // q
    b->node(angles, {});          // value 3
  }
  const ValueId rotated = parts.node(rope, {ValueId(0), ValueId(3)}, kv);
  parts.node(KvWrite{SlotId(0)}, {rotated, ValueId(1)});
  fused.node(RopeKvWrite{rope, {SlotId(0)}, kv}, {ValueId(0), ValueId(3), ValueId(1)});
  pair.same = {{parts.node(attention, {ValueId(2)}), fused.node(attention, {ValueId(2)})}};
  for (CaseBuilder* b : {&parts, &fused}) {
    b->step({{70, 70, {0, 2}}, {3, 3, {1}}}, 7, 2.0);
    b->step({{1, 71, {0, 2}}, {2, 5, {1}}}, 8, 2.0);
  }
  pair.parts = parts.take();
  pair.fused = fused.take();
  return pair;
}

}  // namespace

std::vector<FusedPair> fused_pairs() {
  std::vector<FusedPair> out;
  out.push_back(add_norm(1, 65));
  out.push_back(add_norm(5, 576));
  for (const Format& format : all_formats()) {
    const int64_t width = 2 * std::max<int64_t>(block_cols(format), 32);
    out.push_back(multi(format, 3, width));
    out.push_back(gated(format, 3, width, Act::kSilu, DType::kF32, DType::kF32));
  }
  for (Act act : {Act::kGeluTanh, Act::kGeluErf, Act::kRelu}) {
    out.push_back(gated({FormatKind::kF32}, 7, 67, act, DType::kF32, DType::kF32));
  }
  for (DType cache : {DType::kF32, DType::kF16, DType::kBF16}) {
    out.push_back(rope_write(RopeStyle::kHalf, 16, DType::kF32, cache));
    out.push_back(rope_write(RopeStyle::kHalf, 4, DType::kF32, cache));
    out.push_back(rope_write(RopeStyle::kInterleaved, 16, DType::kF32, cache));
  }
  return out;
}

}  // namespace skua::test
