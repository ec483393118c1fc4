// Checkpoints of models that see: the text model under either spelling of its tensors is the text checkpoint
// itself, and what is left aside is named.
#include "models/text_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

/// How releases call the text model's tensors: "language_model.model.x" or "model.language_model.x".
enum class Spelling { kOuterFirst, kModelFirst };

struct Wrapped {
  const char* outer;  // the whole checkpoint's model_type
  const char* model;  // of family_models()
  Spelling spelling;
};
void PrintTo(const Wrapped& w, std::ostream* out) {
  *out << w.outer << (w.spelling == Spelling::kOuterFirst ? "_outer_first" : "_model_first");
}

FamilyModel named(const std::string& name) {
  for (const FamilyModel& model : family_models()) {
    if (model.name == name) return model;
  }
  ADD_FAILURE() << "no model " << name;
  return {};
}

std::string wrapped_name(const std::string& name, Spelling spelling) {
  if (spelling == Spelling::kOuterFirst) return "language_model." + name;
  return name.starts_with("model.") ? "model.language_model." + name.substr(6) : name;
}

std::vector<float> values_of(const Checkpoint& checkpoint, const std::string& name) {
  const EncodedMatrix m = must(checkpoint.matrix(name));
  std::vector<float> out(static_cast<size_t>(m.rows * m.cols));
  for (int64_t row = 0; row < m.rows; ++row)
    decode_row(m, row, 0, m.cols, &out[static_cast<size_t>(row * m.cols)]);
  return out;
}

/// The same tensors under a wrapper's names, with a tower and a projector beside them.
std::unique_ptr<MemoryCheckpoint> wrap(const Checkpoint& text, const Wrapped& w) {
  auto out = std::make_unique<MemoryCheckpoint>("wrapped");
  Json config = Json::object();
  config.set("model_type", Json(std::string(w.outer)));
  config.set("text_config", text.config());
  config.set("vision_config", *parse_json(R"({"hidden_size": 8, "model_type": "tower"})"));
  config.set("image_token_index", Json(9));
  out->set_config(std::move(config));
  for (const TensorEntry& entry : text.tensors()) {
    EXPECT_TRUE(out->add_values(wrapped_name(entry.name, w.spelling), entry.shape, DType::kF32,
                                values_of(text, entry.name))
                    .ok());
  }
  const std::string before = w.spelling == Spelling::kOuterFirst ? "" : "model.";
  const std::vector<float> four(4, 0.5f);
  for (const char* name :
       {"vision_tower.layers.0.weight", "vision_tower.norm.weight", "multi_modal_projector.weight"})
    EXPECT_TRUE(out->add_values(before + name, {2, 2}, DType::kF32, four).ok());
  return out;
}

class TextPart : public testing::TestWithParam<Wrapped> {};

TEST_P(TextPart, IsTheTextCheckpointAndNamesWhatIsLeftAside) {
  const auto text = make_checkpoint(named(GetParam().model));
  std::vector<std::string> notices;
  auto part = text_part(wrap(*text, GetParam()), ConfigPolicy::kStrict, notices);
  ASSERT_TRUE(part.ok()) << part.status().message();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], testing::HasSubstr("vision_tower.* (2 tensors)"));
  EXPECT_THAT(notices[0], testing::HasSubstr("multi_modal_projector.* (1 tensors)"));

  EXPECT_EQ((*part)->config(), text->config());
  ASSERT_EQ((*part)->tensors().size(), text->tensors().size());
  for (const TensorEntry& entry : text->tensors()) {
    const TensorEntry* found = (*part)->find(entry.name);
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->shape, entry.shape) << entry.name;
    EXPECT_EQ(values_of(**part, entry.name), values_of(*text, entry.name)) << entry.name;
  }
  const auto backend = make_ref_backend({});
  const auto loaded = load_model(**part, *backend, ConfigPolicy::kStrict, nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
}

constexpr Wrapped kWrapped[] = {{"gemma3", "gemma3_bf16", Spelling::kOuterFirst},
                                {"gemma3", "gemma3_bf16", Spelling::kModelFirst},
                                {"gemma3n", "gemma3n_bf16", Spelling::kModelFirst},
                                {"gemma4", "gemma4_moe_bf16", Spelling::kOuterFirst},
                                {"gemma4", "gemma4_bf16", Spelling::kModelFirst},
                                {"llama4", "llama4_bf16", Spelling::kOuterFirst},
                                {"llama4", "llama4_bf16", Spelling::kModelFirst},
                                {"mistral3", "mistral_f32", Spelling::kOuterFirst},
                                {"mistral3", "ministral3_f16", Spelling::kModelFirst},
                                {"qwen3_5_moe", "qwen3_5_moe_f32", Spelling::kOuterFirst},
                                {"qwen3_5_moe", "qwen3_5_moe_f32", Spelling::kModelFirst}};
INSTANTIATE_TEST_SUITE_P(All, TextPart, testing::ValuesIn(kWrapped),
                         [](const testing::TestParamInfo<Wrapped>& param) {
                           return testing::PrintToString(param.param) + std::to_string(param.index);
                         });

TEST(TextPartErrors, AnOuterKeyThatNobodyKnowsIsRefused) {
  const auto text = make_checkpoint(named("gemma3_bf16"));
  auto whole = wrap(*text, kWrapped[0]);
  Json config = whole->config();
  config.set("text_logit_bonus", Json(2.0));
  whole->set_config(std::move(config));
  std::vector<std::string> notices;
  const auto part = text_part(std::move(whole), ConfigPolicy::kStrict, notices);
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.status().message(), testing::HasSubstr("text_logit_bonus"));
}

TEST(TextPartErrors, ATensorOfNoKnownPartFailsTheLoadByName) {
  const auto text = make_checkpoint(named("gemma3_bf16"));
  auto whole = wrap(*text, kWrapped[0]);
  ASSERT_TRUE(whole->add_values("third_eye.weight", {2}, DType::kF32, std::vector<float>{1, 2}).ok());
  std::vector<std::string> notices;
  const auto part = must(text_part(std::move(whole), ConfigPolicy::kStrict, notices));
  const auto backend = make_ref_backend({});
  const auto loaded = load_model(*part, *backend, ConfigPolicy::kStrict, nullptr);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.status().message(), testing::HasSubstr("third_eye.weight"));
}

TEST(TextPartErrors, OneTensorUnderTwoSpellingsIsRefused) {
  const auto text = make_checkpoint(named("gemma3_bf16"));
  auto whole = wrap(*text, kWrapped[0]);
  ASSERT_TRUE(
      whole->add_values("model.language_model.norm.weight", {52}, DType::kF32, std::vector<float>(52, 1.0f))
          .ok());
  std::vector<std::string> notices;
  const auto part = text_part(std::move(whole), ConfigPolicy::kStrict, notices);
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.status().message(), testing::HasSubstr("model.norm.weight"));
}

/// Gemma 3's published text configs leave out what equals the defaults of their time.
TEST(TextPartErrors, WhatAPublishedConfigLeavesOutIsFilledIn) {
  auto whole = std::make_unique<MemoryCheckpoint>("published");
  whole->set_config(
      *parse_json(R"({"model_type": "gemma3", "eos_token_id": [1, 106], "mm_tokens_per_image": 256,
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
    "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
    "vision_config": {"hidden_size": 1152}})"));
  std::vector<std::string> notices;
  const auto part = must(text_part(std::move(whole), ConfigPolicy::kStrict, notices));
  const auto model = parse_model(part->config(), ConfigPolicy::kStrict);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->info().n_heads, 8);
  EXPECT_EQ((*model)->info().n_kv_heads, 4);
  EXPECT_EQ((*model)->info().head_dim, 256);
  EXPECT_EQ((*model)->info().n_vocab, 262208);
  EXPECT_EQ((*model)->info().end_ids, (std::vector<int32_t>{1, 106}));
}

}  // namespace
}  // namespace skua::test
