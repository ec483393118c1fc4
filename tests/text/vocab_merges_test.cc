// vocab.json with merges.txt, and the files beside them: what HF tokenizers 0.23 makes of the same two files
// (tools/parity/vocab_merges.py), and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "text/tokenizer.h"
#include "text/vocab_files.h"

namespace skua {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kFixture =
    std::filesystem::path(SKUA_TEST_DATA) / "text" / "fixtures" / "vocab_and_merges.json";

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? std::move(json).value() : Json();
}

Json part(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found == nullptr ? Json() : *found;
}

VocabMergesFiles files_of(const Json& fixture, const Json& setup) {
  const Json& files = *setup.find("files");
  return {.vocab = fixture.find("vocab")->dump(),
          .merges = fixture.find("merges")->as_string(),
          .config = part(files, "tokenizer_config.json"),
          .special_tokens_map = part(files, "special_tokens_map.json"),
          .added_tokens = part(files, "added_tokens.json"),
          .model_type = setup.find("model_type")->as_string()};
}

TEST(VocabMerges, IdsOffsetsAndTextsAreTheReferences) {
  const Json fixture = parsed(*read_file(kFixture));
  ASSERT_EQ(fixture.find("setups")->size(), 5u);
  for (const Json& setup : fixture.find("setups")->items()) {
    SCOPED_TRACE(setup.find("name")->as_string());
    const auto made = load_vocab_and_merges(files_of(fixture, setup));
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_GT(setup.find("cases")->size(), 15u);
    for (const Json& row : setup.find("cases")->items()) {
      const std::string& text = row.find("in")->as_string();
      const auto encoding = (*made)->encode_with_offsets(text);
      ASSERT_TRUE(encoding.ok()) << encoding.status().message();
      Json ids = Json::array(), offsets = Json::array();
      for (const int32_t id : encoding->ids) ids.push_back(id);
      for (const TextSpan& span : encoding->offsets) {
        offsets.push_back(static_cast<int64_t>(span.begin));
        offsets.push_back(static_cast<int64_t>(span.end));
      }
      EXPECT_EQ(ids.dump(), row.find("ids")->dump()) << text;
      EXPECT_EQ(offsets.dump(), row.find("offsets")->dump()) << text;
      EXPECT_EQ((*made)->decode(encoding->ids, SkipSpecial::kYes), row.find("text")->as_string()) << text;
      EXPECT_EQ((*made)->decode(encoding->ids, SkipSpecial::kNo), row.find("full")->as_string()) << text;
    }
  }
}

VocabMergesFiles small() {
  return {.vocab = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3, "</s>": 4})",
          .merges = "#version: 0.2\na b\n",
          .config = parsed(R"({"tokenizer_class": "GPT2Tokenizer"})"),
          .special_tokens_map = {},
          .added_tokens = {},
          .model_type = "gpt2"};
}

std::string error(const VocabMergesFiles& files) {
  const auto made = load_vocab_and_merges(files);
  EXPECT_FALSE(made.ok());
  return made.ok() ? "" : std::string(made.status().message());
}

std::string merges_error(const std::string& merges) {
  VocabMergesFiles files = small();
  files.merges = merges;
  return error(files);
}

std::string vocab_error(const std::string& vocab) {
  VocabMergesFiles files = small();
  files.vocab = vocab;
  return error(files);
}

std::string config_error(const std::string& config) {
  VocabMergesFiles files = small();
  files.config = parsed(config);
  return error(files);
}

TEST(VocabMerges, RolesComeFromTheFilesAndElseFromTheClass) {
  VocabMergesFiles files = small();
  const auto plain = load_vocab_and_merges(files);
  EXPECT_THAT((*plain)->special_ids().eos, ElementsAre(3));
  EXPECT_EQ((*plain)->special_ids().bos, 3);
  files.special_tokens_map = parsed(R"({"eos_token": "</s>", "bos_token": null})");
  const auto mapped = load_vocab_and_merges(files);
  EXPECT_THAT((*mapped)->special_ids().eos, ElementsAre(4));
  EXPECT_EQ((*mapped)->special_ids().bos, std::nullopt);
  // With added_tokens_decoder the older files do not count.
  files.config = parsed(R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {}})");
  const auto newer = load_vocab_and_merges(files);
  EXPECT_THAT((*newer)->special_ids().eos, ElementsAre(3));
}

TEST(VocabMerges, BadMergesAreNamedByTheirLine) {
  EXPECT_THAT(merges_error("#version: 0.2\na b\nab\n"), HasSubstr("merges.txt line 3"));
  EXPECT_THAT(merges_error("a b ab\n"), HasSubstr("merges.txt line 1"));
  EXPECT_THAT(merges_error("a b\r\n\r\n b\r\n"), HasSubstr("merges.txt line 3"));
  EXPECT_THAT(merges_error("a \n"), HasSubstr("merges.txt line 1"));
  EXPECT_THAT(merges_error("a b\na q\n"), AllOf(HasSubstr("merges.txt line 2"), HasSubstr("\"q\"")));
  EXPECT_THAT(merges_error("b a\n"), AllOf(HasSubstr("merges.txt line 1"), HasSubstr("whole")));
}

TEST(VocabMerges, BadVocabulariesAreNamed) {
  EXPECT_THAT(vocab_error(R"({"a": 0, "b": 0})"), AllOf(HasSubstr("vocab.json"), HasSubstr("same id 0")));
  EXPECT_THAT(vocab_error("{\"a\": 0,\n\"b\": 1,\n\"c\": 1}"), HasSubstr("vocab.json line 3"));
  EXPECT_THAT(vocab_error(R"({"a": 0, "b": "1"})"), AllOf(HasSubstr("vocab.json"), HasSubstr("\"b\"")));
  EXPECT_THAT(vocab_error(R"({"a": 900000000})"), HasSubstr("vocab.json"));
  EXPECT_THAT(vocab_error("{}"), HasSubstr("vocab.json"));
  EXPECT_THAT(vocab_error("[\n"), HasSubstr("vocab.json"));
}

TEST(VocabMerges, BadSideFilesAreNamed) {
  EXPECT_THAT(config_error(R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {"x": {}}})"),
              AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("\"x\"")));
  EXPECT_THAT(config_error(R"({"tokenizer_class": "GPT2Tokenizer",
                               "added_tokens_decoder": {"3": {"content": "<x>"}, "03": {"content": "<y>"}}})"),
              HasSubstr("id 3 twice"));
  EXPECT_THAT(config_error(R"({"tokenizer_class": "GPT2Tokenizer", "eos_token": {"text": "x"}})"),
              AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("eos_token")));
  VocabMergesFiles files = small();
  files.added_tokens = parsed(R"({"<x>": 5, "<y>": 5})");
  EXPECT_THAT(error(files), AllOf(HasSubstr("added_tokens.json"), HasSubstr("same id 5")));
  files = small();
  files.special_tokens_map = parsed("[]");
  EXPECT_THAT(error(files), HasSubstr("special_tokens_map.json"));
}

TEST(VocabMerges, OtherTokenizerClassesAreRefusedByName) {
  EXPECT_THAT(config_error(R"({"tokenizer_class": "CLIPTokenizer"})"),
              AllOf(HasSubstr("CLIPTokenizer"), HasSubstr("not byte-level")));
  EXPECT_THAT(config_error(R"({"tokenizer_class": "RobertaTokenizerFast"})"),
              AllOf(HasSubstr("RobertaTokenizerFast"), HasSubstr("tokens of its own")));
  EXPECT_THAT(config_error(R"({"tokenizer_class": "MadeUpTokenizer"})"),
              AllOf(HasSubstr("MadeUpTokenizer"), HasSubstr("Qwen2Tokenizer")));
  VocabMergesFiles files = small();
  files.config = Json();
  EXPECT_TRUE(load_vocab_and_merges(files).ok());
  files.model_type = "martian";
  EXPECT_THAT(error(files), HasSubstr("martian"));
}

}  // namespace
}  // namespace skua
