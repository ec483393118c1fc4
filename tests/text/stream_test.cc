// Incremental detokenization and stop strings (BUGS.md rows of kind b).
#include <gtest/gtest.h>

#include "text/detokenizer.h"
#include "text/stop_strings.h"
#include "text/tiny_vocab.h"

namespace skua {
namespace {

std::unique_ptr<Tokenizer> bytes_only() {
  auto made = tokenizer_from_gguf(byte_level_vocab({}, {"<end>"}));
  return std::move(made).value();
}

// Vocabulary of <0xNN> pieces (ids 0..255), "▁a" 256, "a" 257, decoded as Llama's tokenizer.json says.
std::unique_ptr<Tokenizer> byte_fallback() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab.set(text::hex_piece(static_cast<uint8_t>(byte)), byte);
  vocab.set("\u2581a", 256);
  vocab.set("a", 257);
  const std::string json = R"({"added_tokens": [], "model": {"type": "BPE", "merges": [], "vocab": )" +
                           vocab.dump() +
                           R"(}, "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}})";
  auto made = load_tokenizer_json(json);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

std::string feed(StopMatcher& matcher, const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += matcher.push(piece);
  return out + matcher.finish();
}

StopMatcher stops(std::vector<std::string> list) {
  return std::move(StopMatcher::make(std::move(list))).value();
}

TEST(Detokenizer, NeverGivesHalfACharacterAndJoinsToTheWhole) {
  const auto tokenizer = bytes_only();
  const std::string text = "a\U0001F336\u00e9\u4f60z";
  Detokenizer stream(*tokenizer);
  std::string joined;
  const auto ids = tokenizer->encode(text);
  for (const int32_t id : *ids) {
    const std::string piece = stream.push(id);
    EXPECT_TRUE(tokenizer->encode(piece).ok()) << "piece is not UTF-8";
    joined += piece;
  }
  EXPECT_EQ(joined + stream.finish(), text);
}

TEST(Detokenizer, EveryCutEqualsTheOneShotDecode) {
  for (auto make : {bytes_only, byte_fallback}) {
    const auto tokenizer = make();
    const std::vector<int32_t> ids = {0xf0, 0x9f, 0x8c, 0xb6, 0xc3, 256, 0xff,
                                      0xe4, 0xbd, 0xa0, 0xe4, 300,  257};
    for (size_t cut = 0; cut <= ids.size(); ++cut) {
      const std::span<const int32_t> start(ids.data(), cut);
      Detokenizer stream(*tokenizer);
      std::string joined;
      for (const int32_t id : start) joined += stream.push(id);
      EXPECT_EQ(joined + stream.finish(), tokenizer->decode(start)) << cut;
    }
  }
}

TEST(Detokenizer, B016StrayBytesBeforeAWordBecomeReplacementCharacters) {
  const auto tokenizer = byte_fallback();
  const std::vector<int32_t> ids = {0xf0, 0x9f, 256};
  EXPECT_EQ(tokenizer->decode(ids), "\ufffd\ufffd a");
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.push(0x9f), "");
  EXPECT_EQ(stream.push(256), "\ufffd\ufffd a");
}

TEST(Detokenizer, B017LimitInsideACharacterGivesOneChoiceStreamedOrNot) {
  const auto tokenizer = bytes_only();
  const std::vector<int32_t> ids = {'o', 'k', 0xf0, 0x9f};
  Detokenizer stream(*tokenizer);
  std::string joined;
  for (const int32_t id : ids) joined += stream.push(id);
  EXPECT_EQ(joined, "ok");
  EXPECT_EQ(joined + stream.finish(), "ok\ufffd");
  EXPECT_EQ(tokenizer->decode(ids), "ok\ufffd");
}

TEST(Detokenizer, B019LeadingSpaceIsStrippedFromTheTextNotFromEveryToken) {
  const auto tokenizer = byte_fallback();
  const std::vector<int32_t> ids = {256, 256};
  EXPECT_EQ(tokenizer->decode(ids), "a a");
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.push(256), "a");
  EXPECT_EQ(stream.push(256), " a");
}

TEST(Detokenizer, B020FirstDeltaFinishesThePromptsCharacterAndRepeatsNothing) {
  const auto tokenizer = bytes_only();
  std::vector<int32_t> prompt = *tokenizer->encode("some words");
  prompt.push_back(0xf0);
  prompt.push_back(0x9f);
  Detokenizer stream(*tokenizer, SkipSpecial::kYes, prompt);
  EXPECT_EQ(stream.push(0x8c), "");
  EXPECT_EQ(stream.push(0xb6), "\U0001F336");
  EXPECT_EQ(stream.push('x'), "x");
  Detokenizer silent(*tokenizer, SkipSpecial::kYes, prompt);
  EXPECT_EQ(silent.finish(), "");
}

TEST(Detokenizer, B022IdsBeyondTheVocabularyGiveNoTextAndTheStreamGoesOn) {
  const auto tokenizer = bytes_only();
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(151927), "");
  EXPECT_EQ(stream.push(-5), "");
  EXPECT_EQ(stream.push('b'), "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Detokenizer, ControlTokensAreLeftOutOrShownAsAsked) {
  const auto tokenizer = bytes_only();
  EXPECT_EQ(Detokenizer(*tokenizer, SkipSpecial::kYes).push(256), "");
  EXPECT_EQ(Detokenizer(*tokenizer, SkipSpecial::kNo).push(256), "<end>");
}

TEST(StopMatcher, B023HoldsBackWhatCouldBecomeAStopString) {
  StopMatcher matcher = stops({"ive doz"});
  EXPECT_EQ(matcher.push("Pack my box with f"), "Pack my box with f");
  EXPECT_EQ(matcher.push("ive"), "");
  EXPECT_EQ(matcher.push(" do"), "");
  EXPECT_EQ(matcher.push("zen jugs"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "ive doz");
  EXPECT_EQ(matcher.push("more"), "");
}

TEST(StopMatcher, LetsGoWhenThePrefixLeadsNowhere) {
  StopMatcher matcher = stops({"abc"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_EQ(matcher.push("ab"), "ab");
  EXPECT_EQ(matcher.push("d"), "abd");
  EXPECT_EQ(matcher.push("a"), "");
  EXPECT_EQ(matcher.finish(), "a");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, B025TextBeforeAStopInsideOneTokenIsDelivered) {
  StopMatcher matcher = stops({"\n"});
  EXPECT_EQ(matcher.push("Why?\n"), "Why?");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, B026EarliestMatchWinsWhateverTheListOrderOrTheCuts) {
  const std::string text = "one STOP two END three";
  for (const auto& list : {std::vector<std::string>{"END three", "STOP"}, {"STOP", "END three"}}) {
    for (size_t width = 1; width <= text.size(); ++width) {
      std::vector<std::string> pieces;
      for (size_t at = 0; at < text.size(); at += width) pieces.push_back(text.substr(at, width));
      StopMatcher matcher = stops(list);
      EXPECT_EQ(feed(matcher, pieces), "one ") << width;
      EXPECT_EQ(matcher.matched(), "STOP");
    }
  }
}

TEST(StopMatcher, AnEarlierStartIsWaitedForWhateverTheCuts) {
  for (const std::string text : {"xabcdy", "xabcey", "xabc"}) {
    const std::string expected = text == "xabcdy" ? "x" : "xa";
    for (size_t width = 1; width <= text.size(); ++width) {
      std::vector<std::string> pieces;
      for (size_t at = 0; at < text.size(); at += width) pieces.push_back(text.substr(at, width));
      StopMatcher matcher = stops({"bc", "abcd"});
      EXPECT_EQ(feed(matcher, pieces), expected) << text << " " << width;
      EXPECT_TRUE(matcher.stopped());
    }
  }
}

TEST(StopMatcher, RefusesEmptyTooLongAndTooManyStopStrings) {
  EXPECT_EQ(StopMatcher::make({""}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(StopMatcher::make({std::string(5000, 'x')}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(StopMatcher::make(std::vector<std::string>(65, "x")).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace skua
