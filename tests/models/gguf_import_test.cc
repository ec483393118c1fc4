#include "models/gguf_import.h"

#include <gtest/gtest.h>

#include "checkpoint/memory_checkpoint.h"

namespace skua {
namespace {

class FakeGguf final : public MemoryCheckpoint {
 public:
  CheckpointKind kind() const override { return CheckpointKind::kGguf; }
};

/// A one-layer llama with 2 heads of 4; the value of each q row tells its original row.
std::unique_ptr<FakeGguf> small(Json metadata) {
  auto file = std::make_unique<FakeGguf>();
  const auto add = [&](const char* name, std::vector<int64_t> shape, const std::vector<float>& values) {
    ASSERT_TRUE(file->add_values(name, std::move(shape), DType::kF32, values).ok());
  };
  add("token_embd.weight", {6, 8}, std::vector<float>(48, 1.0f));
  std::vector<float> q(64);
  for (int stored = 0; stored < 8; ++stored) {
    // Pair-wise order: stored row (head, i, half) holds original row (head, half, i).
    const int head = stored / 4, i = stored % 4 / 2, half = stored % 2;
    for (int c = 0; c < 8; ++c)
      q[static_cast<size_t>(stored * 8 + c)] = static_cast<float>(head * 4 + half * 2 + i);
  }
  add("blk.0.attn_q.weight", {8, 8}, q);
  add("blk.0.attn_k.weight", {4, 8}, std::vector<float>(32, 0.5f));
  add("blk.0.ffn_norm.weight", {8}, std::vector<float>(8, 1.0f));
  file->set_config(std::move(metadata));
  return file;
}

Json metadata() {
  return *parse_json(R"({"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 8,
    "llama.attention.head_count": 2, "llama.attention.head_count_kv": 1, "llama.feed_forward_length": 16,
    "llama.context_length": 64, "llama.rope.freq_base": 100000.0, "llama.rope.dimension_count": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.eos_token_id": 2})");
}

TEST(GgufImport, TranslatesKeysAndNames) {
  const auto imported = import_gguf(small(metadata()), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Json& config = (*imported)->config();
  EXPECT_EQ(config.find("model_type")->as_string(), "llama");
  EXPECT_EQ(config.find("num_key_value_heads")->as_int(), 1);
  EXPECT_EQ(config.find("vocab_size")->as_int(), 6);
  EXPECT_EQ(config.find("eos_token_id")->as_int(), 2);
  EXPECT_TRUE(config.find("tie_word_embeddings")->as_bool());
  EXPECT_NE((*imported)->find("model.layers.0.post_attention_layernorm.weight"), nullptr);
  EXPECT_EQ((*imported)->find("blk.0.ffn_norm.weight"), nullptr);
}

TEST(GgufImport, UndoesThePermutationOfQAndKRows) {
  const auto imported = import_gguf(small(metadata()), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const auto q = (*imported)->matrix("model.layers.0.self_attn.q_proj.weight");
  ASSERT_TRUE(q.ok()) << q.status().message();
  for (int64_t row = 0; row < 8; ++row) {
    float value = -1;
    decode_row(*q, row, 3, 1, &value);
    EXPECT_EQ(value, static_cast<float>(row));
  }
}

TEST(GgufImport, RopeFactorsOfTheFileBecomeRopeScaling) {
  auto file = small(metadata());
  ASSERT_TRUE(file->add_values("rope_freqs.weight", {2}, DType::kF32, std::vector<float>{1.0f, 8.0f}).ok());
  const auto imported = import_gguf(std::move(file), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ((*imported)->config().find("rope_scaling")->dump(),
            R"({"rope_type":"factors","factors":[1.0,8.0]})");
}

/// The config of a file of Gemma's, or the error. Only the largest models divide by d_model / heads.
std::string gemma_query_scale(const char* arch, int n_layers) {
  Json keys = *parse_json(R"({"embedding_length": 96, "attention.head_count": 4, "attention.key_length": 32,
    "attention.value_length": 32, "context_length": 64, "feed_forward_length": 8})");
  keys.set("block_count", Json(n_layers));
  Json all = Json::object();
  all.set("general.architecture", Json(arch));
  for (const auto& [key, value] : keys.members()) all.set(std::string(arch) + "." + key, value);
  const auto imported = import_gguf(small(std::move(all)), ConfigPolicy::kStrict);
  if (!imported.ok()) return imported.status().message();
  return (*imported)->config().find("query_pre_attn_scalar")->dump();
}

TEST(GgufImport, TheQueryScaleOfGemmaFollowsFromItsSize) {
  EXPECT_EQ(gemma_query_scale("gemma2", 46), "24.0");
  EXPECT_EQ(gemma_query_scale("gemma2", 42), "32");
  EXPECT_EQ(gemma_query_scale("gemma3", 62), "24.0");
  EXPECT_EQ(gemma_query_scale("gemma3", 46), "32");
}

TEST(GgufImport, RefusesWhatItDoesNotUnderstand) {
  const auto error = [](Json changed) {
    const auto imported = import_gguf(small(std::move(changed)), ConfigPolicy::kStrict);
    return imported.ok() ? std::string() : imported.status().message();
  };
  Json arch = metadata();
  arch.set("general.architecture", "abacus");
  EXPECT_NE(error(arch).find("\"abacus\" is not known; known are"), std::string::npos) << error(arch);
  EXPECT_NE(error(arch).find("known are afmoe, apertus, arcee"), std::string::npos) << error(arch);
  EXPECT_EQ(error(arch).find(" llama,"), error(arch).rfind(" llama,")) << "named twice: " << error(arch);
  arch.set("general.architecture", Json(3));
  EXPECT_NE(error(arch).find("general.architecture must be a string, got 3"), std::string::npos)
      << error(arch);
  Json extra = metadata();
  extra.set("llama.expert_weights_scale", Json(8));
  EXPECT_NE(error(extra).find("llama.expert_weights_scale"), std::string::npos) << error(extra);
  Json heads = metadata();
  heads.set("llama.attention.head_count", Json(3));
  heads.set("llama.rope.dimension_count", Json(2));
  const auto imported = import_gguf(small(heads), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok());
  EXPECT_FALSE((*imported)->matrix("model.layers.0.self_attn.q_proj.weight").ok());
  for (const char* key : {"llama.rope.dimension_count", "llama.vocab_size", "llama.attention.value_length"}) {
    for (const Json& bad : {Json(2), Json(0), Json("4"), Json(2.5)}) {
      Json changed = metadata();
      changed.set(key, bad);
      EXPECT_NE(error(changed).find(key), std::string::npos)
          << key << " " << bad.dump() << ": " << error(changed);
    }
  }
  for (const char* key : {"llama.embedding_length", "llama.attention.head_count"}) {
    Json changed = metadata();
    changed.set(key, Json(0));  // named when the config is read: not the fault of the rotated dimensions
    EXPECT_EQ(error(changed), "") << key;
  }
  auto file = small(metadata());
  ASSERT_TRUE(file->add_values("blk.0.mystery.weight", {8}, DType::kF32, std::vector<float>(8)).ok());
  const auto unknown = import_gguf(std::move(file), ConfigPolicy::kStrict);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("blk.0.mystery.weight"), std::string::npos);
}

}  // namespace
}  // namespace skua
