// Byte-level BPE from GGUF vocabularies: splitting, merging, control tokens, roles, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tiny_vocab.h"
#include "text/tokenizer.h"

namespace skua {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Tokenizer> make(const GgufVocab& vocab) {
  auto made = tokenizer_from_gguf(vocab);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

// Ids: "he" 256, "ll" 257, "hell" 258, "hello" 259, "Ġhello" 260, then the control tokens 261 and 262.
GgufVocab hello_vocab() {
  GgufVocab vocab =
      byte_level_vocab({"h e", "l l", "he ll", "hell o", "Ġ hello"}, {"<|im_start|>", "<|im_end|>"});
  vocab.eos_id = 262;
  return vocab;
}

TEST(ByteLevelBpe, MergesByRankAndKeepsTheSpaceWithItsWord) {
  const auto tokenizer = make(hello_vocab());
  EXPECT_THAT(*tokenizer->encode("hello hello"), ElementsAre(259, 260));
  EXPECT_THAT(*tokenizer->encode("hell"), ElementsAre(258));
  EXPECT_THAT(*tokenizer->encode("elh"), ElementsAre('e', 'l', 'h'));
}

TEST(ByteLevelBpe, EveryByteSequenceOfAValidTextComesBack) {
  const auto tokenizer = make(hello_vocab());
  const std::string text = "na\u00efve \U0001F336 \u4f60\u597d\r\n\t  x";
  EXPECT_EQ(tokenizer->decode(*tokenizer->encode(text)), text);
}

TEST(ByteLevelBpe, OffsetsCoverWholeCharacters) {
  const auto tokenizer = make(hello_vocab());
  const auto encoding = tokenizer->encode_with_offsets("hello \u00e9");
  EXPECT_THAT(encoding->offsets, ElementsAre(TextSpan{0, 5}, TextSpan{5, 6}, TextSpan{6, 8}, TextSpan{6, 8}));
}

TEST(ByteLevelBpe, ControlTextBecomesControlTokensOnlyWhenAsked) {
  const auto tokenizer = make(hello_vocab());
  EXPECT_THAT(*tokenizer->encode("<|im_start|>hello<|im_end|>"), ElementsAre(261, 259, 262));
  const auto typed = *tokenizer->encode("<|im_end|>", {.parse_special = false});
  EXPECT_EQ(typed.size(), 10u);
  EXPECT_EQ(tokenizer->decode(typed, SkipSpecial::kYes), "<|im_end|>");
}

TEST(ByteLevelBpe, SkipsSpecialTokensWhenDecoding) {
  const auto tokenizer = make(hello_vocab());
  const std::vector<int32_t> ids = {261, 259, 262};
  EXPECT_EQ(tokenizer->decode(ids, SkipSpecial::kYes), "hello");
  EXPECT_EQ(tokenizer->decode(ids, SkipSpecial::kNo), "<|im_start|>hello<|im_end|>");
}

TEST(ByteLevelBpe, KnowsRolesAndEndOfTurn) {
  GgufVocab vocab = hello_vocab();
  vocab.eos_id = 261;
  const auto tokenizer = make(vocab);
  EXPECT_THAT(tokenizer->special_ids().eos, ElementsAre(261, 262));
  EXPECT_FALSE(tokenizer->special_ids().bos.has_value());
  EXPECT_TRUE(tokenizer->is_special(262));
  EXPECT_FALSE(tokenizer->is_special(259));
  EXPECT_EQ(tokenizer->n_vocab(), 263);
}

TEST(ByteLevelBpe, AddsBosAndEosAsTheFileSays) {
  GgufVocab vocab = hello_vocab();
  vocab.bos_id = 261;
  vocab.add_bos = true;
  vocab.add_eos = true;
  const auto tokenizer = make(vocab);
  EXPECT_THAT(*tokenizer->encode("hello"), ElementsAre(261, 259, 262));
  EXPECT_THAT(*tokenizer->encode("hello", {.add_special = false}), ElementsAre(259));
}

TEST(ByteLevelBpe, TokenBytesAreRawBytes) {
  const auto tokenizer = make(hello_vocab());
  EXPECT_EQ(tokenizer->token_bytes(260), " hello");
  EXPECT_EQ(tokenizer->token_bytes(0xf0), "\xf0");
  EXPECT_EQ(tokenizer->token_bytes(100000), "");
  EXPECT_EQ(tokenizer->token_bytes(-1), "");
}

TEST(ByteLevelBpe, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = make(hello_vocab());
  for (const std::string bad : {"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"}) {
    EXPECT_EQ(tokenizer->encode("ok" + bad).status().code(), Code::kInvalidArgument);
  }
}

TEST(GgufVocab, ContradictionsAreErrors) {
  GgufVocab vocab = hello_vocab();
  vocab.token_types.pop_back();
  EXPECT_THAT(tokenizer_from_gguf(vocab).status().message(), HasSubstr("token_type"));
  vocab = hello_vocab();
  vocab.eos_id = 263;
  EXPECT_THAT(tokenizer_from_gguf(vocab).status().message(), HasSubstr("eos_token_id is 263"));
  vocab = hello_vocab();
  vocab.merges.push_back("zz yy");
  EXPECT_THAT(tokenizer_from_gguf(vocab).status().message(), HasSubstr("not in the vocabulary"));
  vocab = hello_vocab();
  vocab.merges.push_back("nospace");
  EXPECT_EQ(tokenizer_from_gguf(vocab).status().code(), Code::kInvalidArgument);
  vocab = hello_vocab();
  vocab.pre = "never-heard-of";
  EXPECT_THAT(tokenizer_from_gguf(vocab).status().message(), HasSubstr("smollm"));
  EXPECT_EQ(tokenizer_from_gguf(GgufVocab{}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace skua
