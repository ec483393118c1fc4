// What HF tokenizers 0.23 and jinja2 3.1 say about small tokenizers and templates (tools/parity/fixtures.py).
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "text/base64.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/vocab_files.h"

namespace skua {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(SKUA_TEST_DATA) / "text" / "fixtures";

Json read(const std::string& name) {
  const auto text = read_file(kFolder / name);
  EXPECT_TRUE(text.ok()) << text.status().message();
  auto json = parse_json(*text);
  EXPECT_TRUE(json.ok()) << json.status().message();
  return std::move(json).value();
}

class TokenizerFixture : public ::testing::TestWithParam<const char*> {};

std::vector<int64_t> integers(const Json& list) {
  std::vector<int64_t> out;
  for (const Json& item : list.items()) out.push_back(item.as_int());
  return out;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, size_t cut) {
  Detokenizer stream(tokenizer);
  std::string out;
  for (size_t i = 0; i < cut; ++i) out += stream.push(ids[i]);
  return out + stream.finish();
}

TEST_P(TokenizerFixture, IdsOffsetsAndTextsAreTheReferences) {
  const Json fixture = read(GetParam());
  const auto tokenizer = load_tokenizer_json(fixture.find("tokenizer")->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_GT(fixture.find("cases")->size(), 50u);
  for (const Json& row : fixture.find("cases")->items()) {
    const std::string& text = row.find("in")->as_string();
    const auto encoding = (*tokenizer)->encode_with_offsets(text);
    ASSERT_TRUE(encoding.ok()) << encoding.status().message();
    std::vector<int64_t> offsets;
    for (const TextSpan& span : encoding->offsets) offsets.insert(offsets.end(), {span.begin, span.end});
    EXPECT_EQ(std::vector<int64_t>(encoding->ids.begin(), encoding->ids.end()), integers(*row.find("ids")))
        << text;
    EXPECT_EQ(offsets, integers(*row.find("offsets"))) << text;
    EXPECT_EQ(*(*tokenizer)->encode(text), encoding->ids) << text;
    EXPECT_EQ((*tokenizer)->decode(encoding->ids, SkipSpecial::kYes), row.find("text")->as_string()) << text;
    EXPECT_EQ((*tokenizer)->decode(encoding->ids, SkipSpecial::kNo), row.find("full")->as_string()) << text;
  }
}

TEST_P(TokenizerFixture, StreamsJoinToTheDecodeAtEveryCut) {
  const Json fixture = read(GetParam());
  const auto tokenizer = load_tokenizer_json(fixture.find("tokenizer")->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  for (const Json& row : fixture.find("cases")->items()) {
    const auto ids = (*tokenizer)->encode(row.find("in")->as_string());
    ASSERT_TRUE(ids.ok());
    for (size_t cut = 1; cut <= ids->size(); cut += 1 + ids->size() / 40) {
      EXPECT_EQ(streamed(**tokenizer, *ids, cut), (*tokenizer)->decode(std::span(*ids).first(cut)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerFixture,
                         ::testing::Values("gpt2_style.json", "llama3_style_ignore_merges.json",
                                           "falcon_style.json", "roberta_style.json",
                                           "llama2_style_byte_fallback.json", "metaspace_first.json",
                                           "clip_style_end_of_word.json", "unigram_NFKC.json",
                                           "wordpiece_cased.json", "wordlevel_accents_stripped.json",
                                           "scripts_prefix_inside_words.json", "added-token_flags.json"),
                         [](const auto& param) {
                           std::string name = param.param;
                           name.resize(name.size() - 5);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Compares one rendering with a row that holds "out" or "error".
void expect_row(std::string_view source, const Json& variables, const Json& row) {
  const auto parsed = ChatTemplate::parse(source);
  const RenderOptions options{.now = [] { return LocalTime{2024, 7, 9, 5, 6, 7, 0}; }};
  const auto out = parsed.ok() ? parsed->render(variables, options) : Result<std::string>(parsed.status());
  if (row.find("error") != nullptr) {
    EXPECT_FALSE(out.ok()) << source;
    return;
  }
  ASSERT_TRUE(out.ok()) << out.status().message() << "\n" << source;
  EXPECT_EQ(*out, row.find("out")->as_string()) << source;
}

TEST(TemplateFixture, TemplatesOfKnownStylesGiveThePromptsOfTheReference) {
  const Json fixture = read("templates.json");
  ASSERT_GE(fixture.find("templates")->size(), 40u);
  for (const Json& item : fixture.find("templates")->items()) {
    for (const Json& row : item.find("cases")->items()) {
      const auto index = static_cast<size_t>(row.find("variables")->as_int());
      expect_row(item.find("template")->as_string(), fixture.find("variables")->items()[index], row);
    }
  }
}

TEST(TemplateFixture, RandomTemplatesGiveTheTextsOfTheReference) {
  const Json fixture = read("random_templates.json");
  ASSERT_GE(fixture.size(), 250u);
  for (const Json& row : fixture.items()) {
    expect_row(row.find("template")->as_string(), *row.find("variables"), row);
  }
}

void expect_rows(const Tokenizer& tokenizer, const Json& rows) {
  ASSERT_GE(rows.size(), 9u);
  for (const Json& row : rows.items()) {
    const std::string& text = row.find("in")->as_string();
    const auto ids = tokenizer.encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(std::vector<int64_t>(ids->begin(), ids->end()), integers(*row.find("ids"))) << text;
    if (const Json* decoded = row.find("text")) {
      EXPECT_EQ(tokenizer.decode(*ids), decoded->as_string()) << text;
    }
  }
}

TEST(OtherFiles, SentencePieceModelsOfBothTypesGiveTheIdsOfTheReference) {
  const Json fixture = read("other_files.json");
  for (const auto& [kind, model] : fixture.find("sentencepiece")->members()) {
    const auto bytes = text::decode_base64(model.find("model")->as_string());
    ASSERT_TRUE(bytes.ok());
    const auto tokenizer = load_sentencepiece(*bytes);
    ASSERT_TRUE(tokenizer.ok()) << kind << ": " << tokenizer.status().message();
    expect_rows(**tokenizer, *model.find("cases"));
  }
}

TEST(OtherFiles, TiktokenListsGiveTheIdsOfTheReference) {
  const Json fixture = read("other_files.json");
  const Json& file = *fixture.find("tiktoken");
  TiktokenOptions options;
  options.pattern = file.find("pattern")->as_string();
  for (const auto& [token, id] : file.find("special")->members()) {
    options.special.emplace_back(token, static_cast<int32_t>(id.as_int()));
  }
  const auto tokenizer = load_tiktoken(file.find("list")->as_string(), options);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  expect_rows(**tokenizer, *file.find("cases"));
}

TEST(TemplateFixture, NamesBlocksAndPprintMeanWhatTheyMeanInJinja2) {
  const Json fixture = read("scopes.json");
  ASSERT_GE(fixture.size(), 150u);
  for (const Json& row : fixture.items()) {
    expect_row(row.find("template")->as_string(), *row.find("variables"), row);
  }
}

TEST(TemplateFixture, MarkupFiltersGiveTheTextsOfTheReference) {
  const Json fixture = read("filters.json");
  ASSERT_GE(fixture.size(), 120u);
  for (const Json& row : fixture.items()) {
    expect_row(row.find("template")->as_string(), *row.find("variables"), row);
  }
}

}  // namespace
}  // namespace skua
