// The named pre-tokenizers of GGUF files: where they cut, against what HF tokenizers 0.23 does with the same
// expressions (tools/parity/gguf_kinds.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "text/sources/gguf_pre.h"
#include "text/tiny_vocab.h"

namespace skua {
namespace {

using ::testing::HasSubstr;

// Ends of the pieces, in bytes.
std::vector<int64_t> cuts(const text::PreTokenizer& splitter, const std::string& text) {
  text::Segment segment{text::AlignedText(text, 0, text::Track::kNo), {}};
  if (!text.empty()) segment.pieces.push_back({0, static_cast<uint32_t>(text.size())});
  const Status status = splitter.split(segment);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<int64_t> out;
  for (const text::Piece& piece : segment.pieces) out.push_back(piece.end);
  return out;
}

TEST(GgufPreTokenizer, CutsWhereTheReferenceCuts) {
  const auto file = read_file(std::filesystem::path(SKUA_TEST_DATA) / "text" / "fixtures" / "gguf_pre.json");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto fixture = parse_json(*file);
  ASSERT_TRUE(fixture.ok());
  const Json& texts = *fixture->find("texts");
  ASSERT_GE(texts.size(), 48u);
  ASSERT_GE(fixture->find("cuts")->size(), 30u);
  for (const auto& [name, rows] : fixture->find("cuts")->members()) {
    const auto pre = text::find_gguf_pre(name);
    ASSERT_TRUE(pre.ok()) << pre.status().message();
    const auto made = text::make_gguf_pre_tokenizer(**pre);
    ASSERT_TRUE(made.ok()) << made.status().message();
    // Without the step that spells bytes, so that positions are those of the text.
    const auto raw = (*made)->without_byte_spelling();
    ASSERT_TRUE(raw.possible && raw.rest) << name;
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int64_t> right;
      for (const Json& end : rows.items()[i].items()) right.push_back(end.as_int());
      EXPECT_EQ(cuts(*raw.rest, texts.items()[i].as_string()), right)
          << name << ": " << texts.items()[i].as_string();
    }
  }
}

TEST(GgufPreTokenizer, NamesThatMeanTheSameLoad) {
  for (const char* name :
       {"gpt2",         "phi-2",         "exaone4",     "mellum", "mellum2",    "minerva-7b",
        "lfm2",         "falcon-h1",     "midm-2.0",    "glm4",   "glm5",       "chatglm-bpe",
        "solar-open",   "llada-moe",     "bailingmoe2", "llama4", "minimax-m2", "poro-chat",
        "gpt3-finnish", "hunyuan-dense", "joyai-llm",   "hy_v4",  "cohere2moe", "qwen35"}) {
    const auto pre = text::find_gguf_pre(name);
    ASSERT_TRUE(pre.ok()) << pre.status().message();
    EXPECT_TRUE(text::make_gguf_pre_tokenizer(**pre).ok()) << name;
  }
}

TEST(GgufPreTokenizer, OthersAreRefusedByNameAndReason) {
  const auto refused = [](std::string_view name) {
    const auto found = text::find_gguf_pre(name);
    EXPECT_EQ(found.status().code(), Code::kUnsupported);
    EXPECT_THAT(found.status().message(), HasSubstr(std::string(name)));
    return found.status().message();
  };
  EXPECT_THAT(refused("gemma4"), HasSubstr("spelled in characters"));
  EXPECT_THAT(refused("pixtral"), HasSubstr("sources disagree"));
  EXPECT_THAT(refused("modern-bert"), HasSubstr("embedding models"));
  EXPECT_THAT(refused("nonesuch"), HasSubstr("known: "));
}

}  // namespace
}  // namespace skua
