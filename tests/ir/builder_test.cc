#include "ir/builder.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

GraphBuilder small() { return GraphBuilder(Numerics{}); }

TEST(GraphBuilder, BuildsAndPrintsAGraphThatValidates) {
  GraphBuilder b = small();
  const ValueId x = b.embed(b.weight("embed", 10, 4));
  const ValueId y = b.rms_norm("norm", x, {b.vector("norm", 4), 1e-6f, 0.0f, 1}, DType::kF32);
  const ValueId rows = b.gather_rows(y);
  const auto graph = b.finish(b.linear("logits", rows, {b.weight("head", 10, 4), std::nullopt}, DType::kF32));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(validate(*graph).ok());
  EXPECT_EQ(graph->value(graph->output).type, (ValueType{Lead::kRows, 10, DType::kF32}));
  EXPECT_NE(print(*graph).find("rms_norm(embed) norm [1, 4]"), std::string::npos) << print(*graph);
}

TEST(GraphBuilder, KeepsTheFirstErrorAndNamesTheSizes) {
  GraphBuilder b = small();
  const ValueId x = b.embed(b.weight("embed", 10, 4));
  const ValueId y = b.linear("q", x, {b.weight("q", 8, 5), std::nullopt}, DType::kF32);
  const auto graph = b.finish(b.linear("logits", y, {b.weight("head", 10, 7), std::nullopt}, DType::kF32));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), Code::kInvalidArgument);
  EXPECT_NE(graph.status().message().find("columns of q: expected 4, got 5"), std::string::npos)
      << graph.status().message();
}

TEST(GraphBuilder, RefusesOneWeightInTwoShapes) {
  GraphBuilder b = small();
  b.weight("w", 10, 4);
  EXPECT_EQ(b.weight("w", 10, 4), b.weight("w", 10, 4));
  b.weight("w", 4, 10);
  EXPECT_FALSE(b.finish(ValueId(0)).ok());
}

TEST(GraphBuilder, RefusesHeadsThatCannotShareKvHeads) {
  GraphBuilder b = small();
  const SlotId slot = b.slot({SlotKind::kFull, 0, 3, 2, 2, 0, DType::kF32});
  const ValueId x = b.embed(b.weight("embed", 10, 8));
  const ValueId kv = b.linear("kv", x, {b.weight("kv", 6, 8), std::nullopt}, DType::kF32);
  b.kv_write("write", kv, kv, slot);
  const auto graph = b.finish(b.attention("attend", x, {slot, 4, 1.0f, 0, 0.0f}, DType::kF32));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("4 heads cannot share 3 kv heads"), std::string::npos);
}

TEST(Validate, CatchesUseBeforeDefinitionAndReadBeforeWrite) {
  GraphBuilder b = small();
  const SlotId slot = b.slot({SlotKind::kFull, 0, 1, 4, 4, 0, DType::kF32});
  const ValueId x = b.embed(b.weight("embed", 10, 4));
  b.kv_write("write", x, x, slot);
  auto graph = b.finish(b.attention("attend", x, {slot, 1, 1.0f, 0, 0.0f}, DType::kF32));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  Graph swapped = *graph;
  std::swap(swapped.nodes[1], swapped.nodes[2]);
  EXPECT_FALSE(validate(swapped).ok());
  Graph early = *graph;
  std::swap(early.nodes[0], early.nodes[1]);
  EXPECT_FALSE(validate(early).ok());
  Graph retyped = *graph;
  retyped.values[0].type.width = 5;
  EXPECT_FALSE(validate(retyped).ok());
}

}  // namespace
}  // namespace skua
