#include "engine/load.h"

#include <gtest/gtest.h>

#include "backend/ref/ref_backend.h"
#include "engine/tiny_model.h"

namespace skua {
namespace {

Result<LoadedModel> load(const Checkpoint& checkpoint) {
  static const std::unique_ptr<Backend> backend = make_ref_backend({});
  return load_model(checkpoint, *backend, ConfigPolicy::kStrict, nullptr);
}

TEST(Load, CountsEveryTensorAndReportsProgress) {
  const auto backend = make_ref_backend({});
  uint64_t last = 0, total = 0;
  const auto model =
      load_model(*tiny_model(), *backend, ConfigPolicy::kStrict, [&](uint64_t done, uint64_t all) {
        EXPECT_GE(done, last);
        last = done;
        total = all;
      });
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->report.used.size(), 20u);
  EXPECT_TRUE(model->report.ignored.empty());
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 0u);
}

TEST(Load, NamesAMissingTensor) {
  const auto model = load(*tiny_model("model.layers.1.mlp.up_proj.weight"));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), Code::kDataLoss);
  EXPECT_NE(model.status().message().find("lacks 1 tensors"), std::string::npos) << model.status().message();
  EXPECT_NE(model.status().message().find("model.layers.1.mlp.up_proj.weight [24, 16]"), std::string::npos);
}

TEST(Load, NamesAWrongShape) {
  const auto checkpoint = tiny_model("model.layers.0.self_attn.k_proj.weight");
  add_random(*checkpoint, "model.layers.0.self_attn.k_proj.weight", {16, 8});
  const auto model = load(*checkpoint);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("k_proj.weight [8, 16] is stored as [16, 8]"), std::string::npos)
      << model.status().message();
}

TEST(Load, RefusesATensorThatNothingReads) {
  const auto checkpoint = tiny_model();
  add_random(*checkpoint, "model.layers.0.self_attn.sinks", {4});
  const auto model = load(*checkpoint);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("model.layers.0.self_attn.sinks [4]"), std::string::npos)
      << model.status().message();
}

// Fault B041: tied embeddings, yet the file also ships an output matrix.
TEST(Load, TiedModelWithAnOutputMatrixLoadsAndWarnsIfTheyDiffer) {
  const auto checkpoint = tiny_model();
  add_random(*checkpoint, "lm_head.weight", {32, 16});
  add_random(*checkpoint, "model.layers.0.self_attn.rotary_emb.inv_freq", {2});
  const auto model = load(*checkpoint);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->report.ignored.size(), 2u);
  ASSERT_EQ(model->report.warnings.size(), 1u);
  EXPECT_NE(model->report.warnings[0].find("differs"), std::string::npos);
}

TEST(Load, RefusesNanWeights) {
  const auto checkpoint = tiny_model("model.norm.weight");
  std::vector<float> values(16, 1.0f);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(checkpoint->add_values("model.norm.weight", {16}, DType::kBF16, values).ok());
  const auto model = load(*checkpoint);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("model.norm.weight"), std::string::npos)
      << model.status().message();
}

}  // namespace
}  // namespace skua
