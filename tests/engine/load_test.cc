#include "engine/load.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/ref/ref_backend.h"
#include "engine/family_models.h"
#include "engine/tiny_model.h"
#include "tensor/decode.h"

namespace skua {
namespace {

enum class ConvLayout { kTorch, kMlx };

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
  EXPECT_NE(model.status().message().find("lacks 1 tensor that"), std::string::npos)
      << model.status().message();
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

/// A Qwen3-Next as transformers stores it, or as MLX does: taps before a last dimension of 1, one added to
/// the norms around zero.
std::unique_ptr<MemoryCheckpoint> delta_model(ConvLayout layout) {
  const auto made =
      test::make_checkpoint({"delta",
                             "qwen3_next",
                             R"({"model_type": "qwen3_next", "num_hidden_layers": 2, "hidden_size": 16,
        "intermediate_size": 8, "num_attention_heads": 2, "vocab_size": 20, "head_dim": 8, "num_experts": 2,
        "num_experts_per_tok": 1, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
        "full_attention_interval": 2, "linear_num_key_heads": 1, "linear_num_value_heads": 2,
        "linear_key_head_dim": 4, "linear_value_head_dim": 4})",
                             {FormatKind::kF32}});
  auto out = std::make_unique<MemoryCheckpoint>();
  out->set_config(made->config());
  for (const TensorEntry& entry : made->tensors()) {
    const EncodedMatrix matrix = *made->matrix(entry.name);
    std::vector<float> values(static_cast<size_t>(matrix.rows * matrix.cols));
    for (int64_t row = 0; row < matrix.rows; ++row)
      decode_row(matrix, row, 0, matrix.cols, &values[static_cast<size_t>(row * matrix.cols)]);
    std::vector<int64_t> shape = entry.shape;
    const bool mlx = layout == ConvLayout::kMlx;
    if (entry.name.find("conv1d") != std::string::npos)
      shape.insert(mlx ? shape.end() : shape.begin() + 1, 1);
    if (mlx && entry.name.find("norm") != std::string::npos &&
        entry.name.find("linear_attn") == std::string::npos) {
      for (float& v : values) v += 1.0f;
    }
    EXPECT_TRUE(out->add_values(entry.name, shape, DType::kF32, values).ok());
  }
  return out;
}

TEST(Load, KnowsMlxConvolutionsAndTheNormsThatComeWithThem) {
  const auto torch = load(*delta_model(ConvLayout::kTorch));
  const auto mlx = load(*delta_model(ConvLayout::kMlx));
  ASSERT_TRUE(torch.ok()) << torch.status().message();
  ASSERT_TRUE(mlx.ok()) << mlx.status().message();
  int n_offsets = 0;
  for (size_t i = 0; i < torch->graph.nodes.size(); ++i) {
    const auto* norm = std::get_if<RmsNorm>(&torch->graph.nodes[i].op);
    if (norm == nullptr || norm->weight_offset == 0.0f) continue;
    ++n_offsets;
    EXPECT_EQ(std::get<RmsNorm>(mlx->graph.nodes[i].op).weight_offset, 0.0f) << torch->graph.nodes[i].label;
  }
  EXPECT_EQ(n_offsets, 7);  // two a layer, two of the attention's heads, the last
  for (size_t i = 0; i < torch->graph.weights.size(); ++i) {
    if (torch->graph.weights[i].name.find("conv1d") == std::string::npos) continue;
    const PackedWeight &a = torch->weights[i], &b = mlx->weights[i];
    ASSERT_EQ(a.buffer->bytes(), b.buffer->bytes());
    EXPECT_EQ(std::memcmp(a.buffer->data(), b.buffer->data(), a.buffer->bytes()), 0);
  }
}

}  // namespace
}  // namespace skua
