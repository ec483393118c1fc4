// Bytes of latent rows and of what they stand for.
#include "models/latent_bytes.h"

#include <gtest/gtest.h>

#include "models/families.h"

namespace skua {
namespace {

TEST(LatentBytes, OfTheKnownModels) {
  const LatentSizes lite{.n_layers = 27, .n_heads = 16, .rank = 512, .rope = 64, .nope = 128, .v = 128};
  EXPECT_EQ(lite.latent_bytes(2), 1152u);
  EXPECT_EQ(lite.decompressed_bytes(2), 10240u);
  LatentSizes large = lite;
  large.n_heads = 128;
  EXPECT_EQ(large.latent_bytes(2), 1152u);
  EXPECT_EQ(large.decompressed_bytes(2), 81920u);
  EXPECT_EQ(large.latent_bytes(4), 2304u);
}

std::optional<LatentSizes> sizes_of(const std::string& config) {
  const auto json = parse_json(config);
  EXPECT_TRUE(json.ok());
  const auto model = parse_model(*json, ConfigPolicy::kStrict);
  EXPECT_TRUE(model.ok()) << model.status().message();
  const auto graph = (*model)->build(Numerics{});
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return latent_sizes(*graph);
}

TEST(LatentBytes, AreReadOffTheGraph) {
  const auto sizes = sizes_of(R"({"model_type": "deepseek_v32", "num_hidden_layers": 3, "hidden_size": 40,
    "intermediate_size": 36, "num_attention_heads": 6, "vocab_size": 88, "kv_lora_rank": 24, "q_lora_rank": 20,
    "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 14, "n_routed_experts": 4, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 12, "index_n_heads": 5, "index_head_dim": 22,
    "index_topk": 9, "head_dim": 8, "first_k_dense_replace": 0, "n_group": 1, "topk_group": 1,
    "routed_scaling_factor": 1.0})");
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->n_layers, 3);
  EXPECT_EQ(sizes->latent_bytes(2), 2u * (24 + 8));
  EXPECT_EQ(sizes->index_bytes(2), 2u * 22);
  EXPECT_EQ(sizes->decompressed_bytes(2), 2u * 6 * (12 + 8 + 14));
}

TEST(LatentBytes, AreOfNoOtherModel) {
  EXPECT_FALSE(sizes_of(R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 16,
    "intermediate_size": 24, "num_attention_heads": 2, "vocab_size": 32, "rms_norm_eps": 1e-5})")
                   .has_value());
}

}  // namespace
}  // namespace skua
