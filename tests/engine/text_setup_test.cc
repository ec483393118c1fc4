// The text half of a checkpoint: what a GGUF vocabulary must bring.
#include "engine/text_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_builder.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::HasSubstr;

Result<TextSetup> text_of(GgufBuilder& file) {
  const TempFolder folder;
  const auto path = folder.write("model.gguf", file.tensor("w", {1}, 0, "1234").build());
  SKUA_ASSIGN_OR_RETURN(const auto checkpoint, open_checkpoint(path));
  return load_text(*checkpoint);
}

GgufBuilder vocabulary() {
  GgufBuilder file;
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  return file;
}

TEST(TextSetup, ReadsAGgufVocabularyWithItsMerges) {
  auto file = vocabulary();
  const auto text = text_of(file.texts("tokenizer.ggml.merges", {"a b"}));
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->tokenizer, nullptr);
}

TEST(TextSetup, SaysWhatAByteLevelVocabularyLacks) {
  GgufBuilder file;
  file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  const auto text = text_of(file.texts("tokenizer.ggml.merges", {"a b"}));
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(text->warnings,
              testing::ElementsAre(HasSubstr("tokenizer.ggml.token_type"), HasSubstr("tokenizer.ggml.pre")));
}

TEST(TextSetup, RefusesAByteLevelVocabularyWithoutMerges) {
  auto file = vocabulary();
  const auto text = text_of(file);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.status().message(), HasSubstr("tokenizer.ggml.merges is missing or empty"));
}

TEST(TextSetup, RefusesTokensThatAreNoList) {
  GgufBuilder file;
  const auto text = text_of(file.text("tokenizer.ggml.tokens", "a"));
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.status().message(), HasSubstr("tokenizer.ggml.tokens should be an array"));
}

TEST(TextSetup, AFileWithoutAVocabularyHasNoTokenizer) {
  GgufBuilder file;
  const auto text = text_of(file);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text->tokenizer, nullptr);
}

}  // namespace
}  // namespace skua
