// Youtu's padding token: its row of the embedding is read as zero, as the reference reads it, and a load says
// so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

FamilyModel youtu(const char* padding, Format format) {
  for (FamilyModel& model : family_models()) {
    if (model.family != "youtu") continue;
    Json config = *parse_json(model.config);
    const auto keys = parse_json(padding);
    for (const auto& [key, value] : keys->members()) config.set(key, value);
    return {"youtu_padding", "youtu", config.dump(), format};
  }
  ADD_FAILURE();
  return {};
}

/// The logits of a few tokens, the padding token among them, and the load's warnings.
struct Outcome {
  Rows rows;
  std::vector<std::string> warnings;
};
Outcome load_and_run(const FamilyModel& model) {
  const auto backend = make_ref_backend({});
  Outcome out;
  out.warnings =
      must(load_model(*make_checkpoint(model), *backend, ConfigPolicy::kStrict, nullptr)).report.warnings;
  HandRunner hand(model, make_ref_backend({}), {.context = 64, .max_tokens = 8, .max_seqs = 1});
  HandSeq seq = hand.new_seq();
  out.rows = hand.step({{&seq, {5, 3, 9}}});
  return out;
}

TEST(PaddingRow, IsZeroOnTheWayInAndOut) {
  const Outcome zero = load_and_run(youtu(R"({"pad_token_id": 3, "eos_token_id": 2})", {FormatKind::kBF16}));
  const Outcome kept = load_and_run(youtu(R"({"eos_token_id": 2})", {FormatKind::kBF16}));
  for (const auto& row : zero.rows) EXPECT_EQ(row[3], 0.0f);
  EXPECT_NE(kept.rows[0][3], 0.0f);
  EXPECT_EQ(zero.rows[0][4], kept.rows[0][4]);
  EXPECT_NE(zero.rows[2][4], kept.rows[2][4]) << "the token itself enters as zero";
  ASSERT_EQ(zero.warnings.size(), 1u);
  EXPECT_THAT(zero.warnings[0], testing::HasSubstr("row 3 of model.embed_tokens.weight"));
  EXPECT_TRUE(kept.warnings.empty());
}

TEST(PaddingRow, OfATokenThatEndsTextsIsKept) {
  const Outcome kept =
      load_and_run(youtu(R"({"pad_token_id": 3, "eos_token_id": [2, 3]})", {FormatKind::kBF16}));
  EXPECT_NE(kept.rows[0][3], 0.0f);
  EXPECT_TRUE(kept.warnings.empty());
}

TEST(PaddingRow, OutsideTheVocabularyIsRefused) {
  const auto config = parse_json(youtu(R"({"pad_token_id": 70})", {}).config);
  const auto model = parse_model(*config, ConfigPolicy::kStrict);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_FALSE((*model)->build(Numerics{}).ok());
}

}  // namespace
}  // namespace skua::test
