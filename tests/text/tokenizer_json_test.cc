// tokenizer.json (BUGS.md rows of kind a): small vocabularies written out here; right values recomputed with
// HF tokenizers 0.23.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "text/byte_chars.h"
#include "text/pattern.h"
#include "text/tokenizer.h"

namespace skua {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Tokenizer> load(const std::string& json) {
  auto made = load_tokenizer_json(json);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

std::vector<std::string> tokens(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  std::vector<std::string> out;
  if (!ids.ok()) return out;
  for (const int32_t id : *ids) out.push_back(tokenizer.token_text(id));
  return out;
}

// A BPE tokenizer whose merges are the ways to join two pieces of `vocab`.
std::string bpe(const std::string& vocab, const std::string& merges, const std::string& rest,
                const std::string& model = "") {
  return R"({"model": {"type": "BPE", "vocab": )" + vocab + R"(, "merges": )" + merges + model + "}, " +
         rest + "}";
}

// Pieces that the splitters of a tokenizer.json make of a text.
std::vector<std::string> pieces(const std::string& pre_tokenizer, std::string_view text) {
  const auto tokenizer = load(R"({"model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"},
      "pre_tokenizer": )" + pre_tokenizer +
                              "}");
  const auto encoding = tokenizer->encode_with_offsets(text);
  EXPECT_TRUE(encoding.ok()) << encoding.status().message();
  std::vector<std::string> out;
  for (const TextSpan& span : encoding->offsets)
    out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

std::string split_json(const std::string& expression) {
  return R"({"type": "Split", "pattern": {"Regex": )" + Json(expression).dump() +
         R"(}, "behavior": "Isolated", "invert": false})";
}

constexpr std::string_view kMarked = R"({"▁": 0, "a": 1, "▁a": 2, "<s>": 3, "<|end|>": 4, "\n": 5})";
constexpr std::string_view kStart = R"([{"id": 3, "content": "<s>", "special": true, "normalized": false}])";

TEST(TokenizerJson, B002TheSpaceRuleAfterAnAddedTokenComesFromTheFile) {
  const auto with = [](const std::string& rule) {
    return load(bpe(std::string(kMarked), R"([["▁", "a"]])",
                    R"("added_tokens": )" + std::string(kStart) + ", " + rule));
  };
  const auto metaspace = [&](const std::string& scheme) {
    return with(R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" + scheme +
                "\"}");
  };
  EXPECT_THAT(tokens(*with(R"("normalizer": {"type": "Prepend", "prepend": "▁"})"), "<s>a"),
              ElementsAre("<s>", "▁a"));
  EXPECT_THAT(tokens(*metaspace("first"), "<s>a"), ElementsAre("<s>", "a"));
  EXPECT_THAT(tokens(*metaspace("first"), "a<s>a"), ElementsAre("▁a", "<s>", "a"));
  EXPECT_THAT(tokens(*metaspace("always"), "<s>a"), ElementsAre("<s>", "▁a"));
  EXPECT_THAT(tokens(*metaspace("never"), "<s>a"), ElementsAre("<s>", "a"));
}

// The Llama family: a mark before every text, spaces as marks, bytes for what is unknown. Of two spaces the
// second belongs to the word.
std::unique_ptr<Tokenizer> llama_like() {
  Json vocab = Json::object();
  for (const char* piece : {"<s>", "▁", "t", "e", "a", "G", "r", "n", "▁t", "ea", "▁tea", "▁G", "re", "en",
                            "▁Gre", "▁Green", "▁▁"}) {
    vocab.set(piece, static_cast<int64_t>(vocab.size()));
  }
  for (int byte = 0; byte < 256; ++byte) {
    vocab.set(text::hex_piece(static_cast<uint8_t>(byte)), static_cast<int64_t>(vocab.size()));
  }
  return load(bpe(
      vocab.dump(),
      R"([["▁", "t"], ["e", "a"], ["▁t", "ea"], ["▁", "G"], ["r", "e"], ["e", "n"], ["▁G", "re"], ["▁Gre", "en"],
                      ["▁", "▁"]])",
      R"("added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false}],
      "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
      "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
      R"(, "byte_fallback": true)"));
}

TEST(TokenizerJson, B001FirstWordHasItsImplicitSpaceAndDecodingTakesOneAway) {
  const auto tokenizer = llama_like();
  EXPECT_THAT(tokens(*tokenizer, "Green tea"), ElementsAre("▁Green", "▁tea"));
  EXPECT_THAT(tokens(*tokenizer, " Green tea"), ElementsAre("▁", "▁Green", "▁tea"));
  EXPECT_THAT(tokens(*tokenizer, "tea \U0001F336"),
              ElementsAre("▁tea", "▁", "<0xF0>", "<0x9F>", "<0x8C>", "<0xB6>"));
  for (const std::string text : {"Green tea", " Green tea", "tea \U0001F336 tea"}) {
    EXPECT_EQ(tokenizer->decode(*tokenizer->encode(text)), text);
  }
}

TEST(TokenizerJson, B004TextWithALeadingSpaceAfterAControlTokenKeepsItsWordStart) {
  EXPECT_THAT(tokens(*llama_like(), "<s> Green tea"), ElementsAre("<s>", "▁", "▁Green", "▁tea"));
}

TEST(TokenizerJson, B005IgnoreMergesTakesTheWholeWord) {
  const std::string vocab = R"({"V": 0, "i": 1, "e": 2, "t": 3, "Vi": 4, "Viet": 5})";
  EXPECT_THAT(
      tokens(*load(bpe(vocab, R"(["V i"])", R"("decoder": null)", R"(, "ignore_merges": true)")), "Viet"),
      ElementsAre("Viet"));
  EXPECT_THAT(tokens(*load(bpe(vocab, R"(["V i"])", R"("decoder": null)")), "Viet"),
              ElementsAre("Vi", "e", "t"));
}

TEST(TokenizerJson, B007StepsRunOnTheOutputOfTheOneBefore) {
  EXPECT_THAT(
      pieces(R"({"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Contiguous"},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, {"type": "Digits", "individual_digits": false},
      {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": false}]})",
             "in 12345678, ok"),
      ElementsAre("in", " ", "123", "456", "78", ",", " ok"));
}

TEST(TokenizerJson, B008ExpressionsThatDifferByOneClassAreDifferent) {
  const std::string tail = R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string head = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  const std::string llama3 = head + R"(\p{N}{1,3}|)" + tail, qwen2 = head + R"(\p{N}|)" + tail;
  const std::string qwen35 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                             R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_THAT(pieces(split_json(llama3), "1234567"), ElementsAre("123", "456", "7"));
  EXPECT_THAT(pieces(split_json(qwen2), "1234567"), ElementsAre("1", "2", "3", "4", "5", "6", "7"));
  EXPECT_EQ(pieces(split_json(qwen35), "1234567").size(), 7u);
  EXPECT_THAT(pieces(split_json(llama3), "ne\u0301e"), ElementsAre("ne", "\u0301e"));
  EXPECT_THAT(pieces(split_json(qwen2), "ne\u0301e"), ElementsAre("ne", "\u0301e"));
  EXPECT_THAT(pieces(split_json(qwen35), "ne\u0301e"), ElementsAre("ne\u0301e"));
}

TEST(TokenizerJson, B010UnknownCharactersBecomeTheirBytesWhenTheVocabularyHasThem) {
  Json vocab = Json::array();
  const auto piece = [&](const std::string& text, double score) {
    Json pair = Json::array();
    pair.push_back(text);
    pair.push_back(score);
    vocab.push_back(std::move(pair));
  };
  piece("<unk>", 0);
  piece("▁", -2);
  piece("▁this", -1);
  for (int byte = 0; byte < 256; ++byte) piece(text::hex_piece(static_cast<uint8_t>(byte)), -20);
  const auto json = [&](const std::string& fallback) {
    return R"({"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": )" + fallback + R"(, "vocab": )" +
           vocab.dump() +
           R"(}, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}})";
  };
  EXPECT_THAT(tokens(*load(json("true")), "this \U0001F999"),
              ElementsAre("▁this", "▁", "<0xF0>", "<0x9F>", "<0xA6>", "<0x99>"));
  EXPECT_THAT(tokens(*load(json("false")), "this \U0001F999"), ElementsAre("▁this", "▁", "<unk>"));
}

TEST(TokenizerJson, B011TheNormalizerOfTheFileRunsBeforeAnySplit) {
  const auto normalized = [](const std::string& form, const std::string& text) {
    Json vocab = Json::object();
    for (int byte = 0; byte < 256; ++byte) vocab.set(text::hex_piece(static_cast<uint8_t>(byte)), byte);
    const auto tokenizer = load(
        bpe(vocab.dump(), "[]", R"("normalizer": {"type": ")" + form + "\"}", R"(, "byte_fallback": true)"));
    std::string out;
    const auto ids = tokenizer->encode(text);
    for (const int32_t id : *ids) out.push_back(static_cast<char>(id));
    return out;
  };
  EXPECT_EQ(normalized("NFKC", "4 \u00bd \ufb01"), "4 1\u20442 fi");
  EXPECT_EQ(normalized("NFC", "e\u0301"), "\xc3\xa9");
  EXPECT_EQ(normalized("NFD", "\u1e69"), "s\u0323\u0307");
  EXPECT_EQ(normalized("NFC", "s\u0307\u0323"), "\u1e69");
  EXPECT_EQ(normalized("Lowercase", "\u0130\u00c9"), "i\u0307\u00e9");
}

TEST(TokenizerJson, B013LongWhitespaceRunsComeBackWhole) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab.set(std::string(text::byte_char(static_cast<uint8_t>(byte))), byte);
  Json merges = Json::array();
  std::string run = "\u0120";
  for (int n = 256; n < 263; ++n) {  // runs of 2, 4, ... 128 spaces
    merges.push_back(Json(run + " " + run));
    run += run;
    vocab.set(run, n);
  }
  const auto tokenizer = load(bpe(vocab.dump(), merges.dump(), R"("pre_tokenizer": {"type": "ByteLevel",
      "add_prefix_space": false, "use_regex": true}, "decoder": {"type": "ByteLevel"})"));
  for (size_t n = 1; n <= 300; ++n) {
    const std::string text = std::string(n, ' ') + "X";
    EXPECT_EQ(tokenizer->decode(*tokenizer->encode(text)), text) << n;
  }
  EXPECT_EQ(tokenizer->encode(std::string(128, ' '))->size(), 1u);
}

TEST(TokenizerJson, B014StripFlagsOfAddedTokensWorkOnTheirSide) {
  const auto with = [](const std::string& flags) {
    return load(bpe(
        std::string(kMarked), R"([["▁", "a"]])",
        R"("added_tokens": [{"id": 4, "content": "<|end|>", "special": true, "normalized": false)" + flags +
            R"(}], "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})"));
  };
  EXPECT_THAT(tokens(*with(R"(, "rstrip": true)"), "a<|end|>  \n a"), ElementsAre("▁a", "<|end|>", "▁a"));
  EXPECT_THAT(tokens(*with(""), "a<|end|>  \n a"), ElementsAre("▁a", "<|end|>", "▁", "▁", "\n", "▁a"));
  EXPECT_THAT(tokens(*with(R"(, "lstrip": true)"), "a  <|end|>a"), ElementsAre("▁a", "<|end|>", "▁a"));
}

TEST(TokenizerJson, SingleWordTokensNeedFreeEdges) {
  const auto tokenizer =
      load(R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"},
      "added_tokens": [{"id": 2, "content": "cat", "single_word": true, "normalized": false}],
      "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  EXPECT_THAT(tokens(*tokenizer, "a cat cats"), ElementsAre("a", "cat", "<unk>"));
}

TEST(TokenizerJson, UnknownThingsAreNamed) {
  const auto message = [](const std::string& json) { return load_tokenizer_json(json).status().message(); };
  EXPECT_THAT(message("{"), HasSubstr("json"));
  EXPECT_THAT(message("[]"), HasSubstr("object"));
  EXPECT_THAT(message("{}"), HasSubstr("model"));
  EXPECT_THAT(message(R"({"model": {"type": "Magic"}})"), HasSubstr("Magic"));
  EXPECT_THAT(message(bpe(R"({"a": 0})", "[]", R"("normalizer": {"type": "Iron"})")), HasSubstr("Iron"));
  EXPECT_THAT(message(bpe(R"({"a": 0})", R"(["a b"])", R"("decoder": null)")),
              HasSubstr("not in the vocabulary"));
  EXPECT_THAT(message(bpe(R"({"a": 99999999})", "[]", R"("decoder": null)")), HasSubstr("gaps"));
  EXPECT_THAT(message(bpe(R"({"a": 0})", "[]", R"("pre_tokenizer": )" + split_json("(a"))),
              HasSubstr("regex"));
}

// Right values: HF tokenizers 0.23.3 on the same files.
TEST(TokenizerJson, AnEmptyLiteralSplitsEveryCharacterAsInHf) {
  EXPECT_THAT(
      pieces(R"({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false})",
             "héy"),
      ElementsAre("h", "é", "y"));
}

TEST(TokenizerJson, ReplacementsThatDoubleTheTextEndWithAnError) {
  std::string doubling;
  for (int i = 0; i < 40; ++i) {
    doubling += std::string(i > 0 ? ", " : "") +
                R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  }
  const auto tokenizer = load(
      bpe(R"({"a": 0})", "[]", R"("normalizer": {"type": "Sequence", "normalizers": [)" + doubling + "]}"));
  const auto ids = tokenizer->encode("a");
  EXPECT_EQ(ids.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(ids.status().message(), HasSubstr("16 MiB"));
}

TEST(TokenizerJson, TruncationAndPaddingAreAppliedOnlyWhenAskedFor) {
  const std::string added = R"("added_tokens": [{"id": 2, "content": "<x>", "special": true}],)";
  const std::string vocab = R"({"a": 0, "b": 1})";
  const auto cut = load(bpe(vocab, "[]", added + R"("truncation": {"direction": "Right", "max_length": 3})"));
  EXPECT_THAT(*cut->encode("ab<x>b"), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(*cut->encode("ab<x>b", {.file_limits = FileLimits::kApply}), ElementsAre(0, 1, 2));
  const auto left = load(bpe(vocab, "[]", added + R"("truncation": {"direction": "Left", "max_length": 3},
      "padding": {"strategy": {"Fixed": 5}, "direction": "Left", "pad_id": 2, "pad_token": "<x>"})"));
  const auto full = left->encode_with_offsets("ab<x>b", {.file_limits = FileLimits::kApply});
  EXPECT_THAT(full->ids, ElementsAre(2, 2, 1, 2, 1));
  EXPECT_THAT(full->offsets,
              ElementsAre(TextSpan{}, TextSpan{}, TextSpan{1, 2}, TextSpan{2, 5}, TextSpan{5, 6}));
  const auto multiple = load(bpe(vocab, "[]", added + R"("padding": {"strategy": "BatchLongest",
      "direction": "Right", "pad_to_multiple_of": 4, "pad_id": 1})"));
  EXPECT_THAT(*multiple->encode("aaaaa", {.file_limits = FileLimits::kApply}),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1));
  EXPECT_EQ(left->notes().size(), 2u);
}

TEST(TokenizerJson, AddedTokensThatTheModelLacksAreNumberedOnFromTheVocabulary) {
  const auto made = load(bpe(R"({"a": 0, "b": 1})", "[]",
                             R"("added_tokens": [{"id": 500, "content": "<x>", "special": true},
                                 {"id": 300, "content": "<y>", "special": true},
                                 {"id": 9, "content": "<x>", "special": true},
                                 {"id": 7, "content": "a", "special": true}])"));
  EXPECT_THAT(*made->encode("ab<x>b<y>"), ElementsAre(0, 1, 2, 1, 3));
  EXPECT_EQ(made->n_vocab(), 4);
  EXPECT_EQ(made->notes().size(), 4u);
}

TEST(TokenizerJson, TwoTokensWithOneIdAndEmptyVocabulariesAreErrors) {
  const auto error = [](const std::string& json) { return load_tokenizer_json(json).status().message(); };
  EXPECT_THAT(error(bpe(R"({"a": 0, "b": 0})", "[]", R"("added_tokens": [])")), HasSubstr("same id 0"));
  // Two entries: the token that the file adds would be counted 2, which is taken.
  EXPECT_THAT(error(bpe(R"({"a": 0, "b": 2})", "[]", R"("added_tokens": [{"id": 5, "content": "<x>"}])")),
              HasSubstr("both have id 2"));
  EXPECT_THAT(error(bpe("{}", "[]", R"("added_tokens": [])")), HasSubstr("vocabulary is empty"));
  EXPECT_THAT(error(bpe(R"({"a": -1})", "[]", R"("added_tokens": [])")), HasSubstr("token ids"));
}

TEST(TokenizerJson, DropoutAndTruncationAreNotedAndDoNothing) {
  const auto tokenizer =
      load(bpe(R"({"a": 0})", "[]", R"("truncation": {"max_length": 1})", R"(, "dropout": 0.5)"));
  EXPECT_EQ(tokenizer->encode("aaa")->size(), 3u);
  EXPECT_EQ(tokenizer->notes().size(), 2u);
}

TEST(TokenizerSpeed, HugePiecesTakeLinearTime) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab.set(std::string(text::byte_char(static_cast<uint8_t>(byte))), byte);
  vocab.set("ab", 256);
  vocab.set("abab", 257);
  vocab.set("\u0120\u0120", 258);
  const auto tokenizer =
      load(bpe(vocab.dump(), R"(["a b", "ab ab", "Ġ Ġ"])", R"("normalizer": {"type": "NFC"},
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})"));
  std::string letters, marks = "e";
  for (int i = 0; i < 100'000; ++i) letters += "ab";
  for (int i = 0; i < 50'000; ++i) marks += "\u0301\u0323";
  for (const std::string& text : {letters, std::string(1'000'000, ' '), marks}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(tokenizer->encode(text).ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5))
        << "a debug build has five times as long";
  }
}

TEST(Regex, VerbsAndOpenCommentsAreRefusedAsInOniguruma) {
  EXPECT_FALSE(text::Pattern::regex("(*ACCEPT)").ok());
  EXPECT_FALSE(text::Pattern::regex("a(*FAIL)").ok());
  EXPECT_FALSE(text::Pattern::regex("a(?#open").ok());
  EXPECT_TRUE(text::Pattern::regex("a(?#shut)").ok());
}

TEST(Regex, OnigurumaSyntaxKeepsItsMeaning) {
  const auto matches = [](std::string_view expression, std::string_view text) {
    const auto pattern = text::Pattern::regex(expression);
    EXPECT_TRUE(pattern.ok()) << pattern.status().message();
    std::vector<text::Part> parts;
    EXPECT_TRUE(pattern->find_parts(text, parts).ok());
    std::vector<std::string> out;
    for (const text::Part& part : parts) {
      if (part.is_match) out.emplace_back(text.substr(part.begin, part.end - part.begin));
    }
    return out;
  };
  EXPECT_THAT(matches(R"(\h+)", "fe 0g"), ElementsAre("fe", "0"));   // hexadecimal digits
  EXPECT_THAT(matches("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));     // m: the dot matches newlines
  EXPECT_THAT(matches("^a", "a\na"), ElementsAre("a", "a"));         // at every line
  EXPECT_THAT(matches("a{,2}b", "aab b"), ElementsAre("aab", "b"));  // {,n}
  EXPECT_THAT(matches("a{2}+", "aaaaa"), ElementsAre("aaaa"));       // + repeats an interval
  EXPECT_THAT(matches("[[:alpha:]&&[^b-d]]+", "abcde"), ElementsAre("a", "e"));  // intersection
  EXPECT_THAT(matches(R"(\bab\b)", "ab cab \u00e9ab ab"),
              ElementsAre("ab", "ab"));  // word borders are Unicode's
  EXPECT_THAT(matches(R"(\p{^L}+)", "a12b"), ElementsAre("12"));
  EXPECT_THAT(matches(R"([\p{Letter}]+)", "ab1"), ElementsAre("ab"));
  EXPECT_THAT(matches(R"(\p{L}+)", "a\U00010ec4b"), ElementsAre("a\U00010ec4b"));  // a letter of Unicode 16
}

}  // namespace
}  // namespace skua
