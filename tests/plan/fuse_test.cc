#include <gtest/gtest.h>

#include "ir/builder.h"
#include "plan/plan.h"

namespace skua {
namespace {

constexpr FusionSet kAll{true, true, true, true};

/// One decoder layer with everything that can fuse.
Graph layer() {
  GraphBuilder b(Numerics{});
  const SlotId slot = b.slot({SlotKind::kFull, 0, 1, 4, 4, 0, DType::kF32});
  ValueId x = b.embed(b.weight("embed", 10, 8));
  const ValueId angles = b.rope_angles("rope", {{1.0, 0.5}, 1.0});
  const ValueId n = b.rms_norm("norm1", x, {b.vector("norm1", 8)}, DType::kF32);
  ValueId q = b.linear("q", n, {b.weight("q", 8, 8), std::nullopt}, DType::kF32);
  ValueId k = b.linear("k", n, {b.weight("k", 4, 8), std::nullopt}, DType::kF32);
  const ValueId v = b.linear("v", n, {b.weight("v", 4, 8), std::nullopt}, DType::kF32);
  q = b.rope("q_rope", q, angles, {2, 4, RopeStyle::kHalf}, DType::kF32);
  k = b.rope("k_rope", k, angles, {1, 4, RopeStyle::kHalf}, DType::kF32);
  b.kv_write("kv", k, v, slot);
  const ValueId a = b.attention("attend", q, {slot, 2, 0.5f, 0, 0.0f}, DType::kF32);
  const ValueId o = b.linear("o", a, {b.weight("o", 8, 8), std::nullopt}, DType::kF32);
  x = b.add("add1", x, o, DType::kF32);
  const ValueId m = b.rms_norm("norm2", x, {b.vector("norm2", 8)}, DType::kF32);
  const ValueId gate = b.linear("gate", m, {b.weight("gate", 16, 8), std::nullopt}, DType::kF32);
  const ValueId up = b.linear("up", m, {b.weight("up", 16, 8), std::nullopt}, DType::kF32);
  const ValueId h = b.act_mul("act", gate, up, Act::kSilu, DType::kF32);
  const ValueId d = b.linear("down", h, {b.weight("down", 8, 16), std::nullopt}, DType::kF32);
  x = b.add("add2", x, d, DType::kF32);
  const ValueId f = b.rms_norm("norm3", x, {b.vector("norm3", 8)}, DType::kF32);
  auto graph =
      b.finish(b.linear("logits", b.gather_rows(f), {b.weight("embed", 10, 8), std::nullopt}, DType::kF32));
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) out.emplace_back(op_name(node.op));
  return out;
}

TEST(Fuse, FindsEveryPatternOfADecoderLayer) {
  const Graph fused = fuse(layer(), kAll);
  EXPECT_TRUE(validate(fused).ok()) << validate(fused).message();
  EXPECT_EQ(names(fused),
            (std::vector<std::string>{"embed", "rope_angles", "rms_norm", "multi_linear", "rope",
                                      "rope_kv_write", "attention", "linear", "add_rms_norm", "gated_linear",
                                      "linear", "add_rms_norm", "gather_rows", "linear"}));
}

TEST(Fuse, DoesOnlyWhatTheBackendHasKernelsFor) {
  EXPECT_EQ(names(fuse(layer(), FusionSet{})), names(layer()));
  const auto only_add = names(fuse(layer(), FusionSet{.add_rms_norm = true}));
  EXPECT_EQ(std::count(only_add.begin(), only_add.end(), "add_rms_norm"), 2);
  EXPECT_EQ(std::count(only_add.begin(), only_add.end(), "multi_linear"), 0);
}

TEST(Fuse, LeavesAValueAloneThatSomebodyElseReads) {
  GraphBuilder b(Numerics{});
  const ValueId x = b.embed(b.weight("embed", 10, 8));
  const ValueId gate = b.linear("gate", x, {b.weight("gate", 8, 8), std::nullopt}, DType::kF32);
  const ValueId up = b.linear("up", x, {b.weight("up", 8, 8), std::nullopt}, DType::kF32);
  const ValueId h = b.act_mul("act", gate, up, Act::kSilu, DType::kF32);
  const auto graph = b.finish(b.add("sum", h, gate, DType::kF32));
  ASSERT_TRUE(graph.ok());
  const auto fused = names(fuse(*graph, kAll));
  EXPECT_EQ(std::count(fused.begin(), fused.end(), "gated_linear"), 0);
  EXPECT_TRUE(validate(fuse(*graph, kAll)).ok());
}

}  // namespace
}  // namespace skua
