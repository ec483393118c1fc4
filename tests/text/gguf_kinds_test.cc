// GGUF vocabularies other than plain byte-level BPE. tools/text_parity compares published ones in full; here
// are small ones, with what sentencepiece 0.2.3 and HF tokenizers 0.23.3 say of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tiny_vocab.h"

namespace skua {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> tokens(const GgufVocab& vocab, std::string_view text) {
  const auto made = tokenizer_from_gguf(vocab);
  EXPECT_TRUE(made.ok()) << made.status().message();
  std::vector<std::string> out;
  if (!made.ok()) return out;
  const auto ids = (*made)->encode(text, {.add_special = false});
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  for (const int32_t id : *ids) out.push_back((*made)->token_text(id));
  return out;
}

// x, y and z at -1, the user-defined xy at -5, and xyz at `whole`.
GgufVocab unigram(float whole) {
  GgufVocab vocab;
  vocab.model = "t5";
  vocab.tokens = {"<unk>", "x", "y", "z", "xy", "xyz"};
  vocab.scores = {0, -1, -1, -1, -5, whole};
  vocab.token_types = {2, 1, 1, 1, 4, 1};
  vocab.unk_id = 0;
  vocab.add_space_prefix = false;
  return vocab;
}

TEST(GgufKinds, UnigramScoresUserDefinedPiecesByTheirLength) {
  EXPECT_THAT(tokens(unigram(-0.8F), "xyz"), ElementsAre("xyz"));
  EXPECT_THAT(tokens(unigram(-0.95F), "xyz"), ElementsAre("xy", "z"));
  EXPECT_THAT(tokens(unigram(-6.5F), "xyz"), ElementsAre("xy", "z"));
}

TEST(GgufKinds, UnigramAddsFloats) {
  GgufVocab vocab = unigram(0);
  vocab.tokens = {"<unk>", "a", "b", "ab"};
  vocab.token_types = {2, 1, 1, 1};
  vocab.scores = {0, -0.1F, -0.2F, -0.3F};  // equal as floats; in doubles the two would win
  EXPECT_THAT(tokens(vocab, "ab"), ElementsAre("ab"));
}

TEST(GgufKinds, UnigramCountsOnFromZeroBeyondAHundredThousand) {
  GgufVocab vocab = unigram(0);
  vocab.tokens = {"<unk>", "a", "b", "ab"};
  vocab.token_types = {2, 1, 1, 1};
  vocab.scores = {0, -100000, -0.005F, -100000.0078125F};  // not beyond: the sum rounds to the whole's score
  EXPECT_THAT(tokens(vocab, "ab"), ElementsAre("ab"));
  vocab.scores = {0, -100000.0078125F, -0.005F, -100000.015625F};
  EXPECT_THAT(tokens(vocab, "ab"), ElementsAre("a", "b"));
  vocab.scores = {0, 200000, -0.01F, 199999.984375F};
  EXPECT_THAT(tokens(vocab, "ab"), ElementsAre("a", "b"));
}

TEST(GgufKinds, BertMarksTheStartsOfWords) {
  GgufVocab vocab;
  vocab.model = "bert";
  vocab.tokens = {"[UNK]", "[CLS]", "[SEP]", "\u2581hel", "lo", "\u2581lo"};
  vocab.token_types = {3, 3, 3, 1, 1, 1};
  vocab.unk_id = 0;
  EXPECT_THAT(*(*tokenizer_from_gguf(vocab))->encode("Hello lo qq"), ElementsAre(1, 3, 4, 5, 0, 2));
}

TEST(GgufKinds, LlamaMergesByScoreAndFallsBackToBytes) {
  GgufVocab vocab;
  vocab.model = "llama";
  vocab.tokens = {"<unk>", "\u2581", "a", "b", "ab", "\u2581a", "<0xC3>", "<0xA9>"};
  vocab.scores = {0, -3, -4, -5, -1, -2, 0, 0};
  vocab.token_types = {2, 1, 1, 1, 1, 1, 6, 6};
  EXPECT_THAT(tokens(vocab, "ab a"), ElementsAre("\u2581", "ab", "\u2581a"));
  EXPECT_THAT(tokens(vocab, "\u00e9"), ElementsAre("\u2581", "<0xC3>", "<0xA9>"));
}

TEST(GgufKinds, NamedPreTokenizersSplitAsTheirFamilies) {
  const auto made = [](const char* pre) {
    return byte_level_vocab({"1 2", "12 3", "123 4", "5 6"}, {}, pre);
  };
  EXPECT_THAT(tokens(made("llama-bpe"), "123456"), ElementsAre("123", "4", "56"));
  EXPECT_THAT(tokens(made("qwen2"), "1234"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(tokens(made("deepseek-coder"), "12"), ElementsAre("1", "2"));
  EXPECT_THAT(tokens(made("falcon"), "123456"), ElementsAre("123", "4", "56"));
  EXPECT_THAT(tokens(made("gpt-2"), "123456"), ElementsAre("1234", "56"));
}

TEST(GgufKinds, UnknownNamesAreRefusedByName) {
  const Status status = tokenizer_from_gguf(byte_level_vocab({}, {}, "nosuch-bpe")).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("nosuch-bpe"));
}

}  // namespace
}  // namespace skua
