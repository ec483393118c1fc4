// GGUF files as checkpoints: names, types that are not read, split models, pages given back.
#include "checkpoint/gguf_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/gguf_builder.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string f32_bytes(std::initializer_list<float> values) {
  std::string out;
  for (const float value : values) out += gguf_number(value);
  return out;
}

TEST(GgufCheckpoint, GivesMatricesAndMetadata) {
  const TempFolder folder;
  GgufBuilder b;
  b.text("general.architecture", "made_up").texts("tokenizer.ggml.tokens", {"a"});
  b.tensor("w", {2, 3}, 0, f32_bytes({1, 2, 3, 4, 5, 6})).tensor("k", {256}, 15, std::string(292, 'k'));
  const auto path = folder.write("model.gguf", b.build());
  const auto c = open_checkpoint(path);
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ((*c)->kind(), CheckpointKind::kGguf);
  EXPECT_EQ((*c)->config().find("general.architecture")->as_string(), "made_up");
  const auto w = (*c)->matrix("w");
  ASSERT_TRUE(w.ok()) << w.status().message();
  float out[2];
  decode_row(*w, 2, 0, 2, out);
  EXPECT_EQ(out[1], 6.0f);
  (*c)->release("w");
  (*c)->release_rows("w", 0, 2);
  decode_row(*w, 2, 0, 2, out);  // dropped pages are read again
  EXPECT_EQ(out[0], 5.0f);
  EXPECT_THAT((*c)->matrix("k").status().message(),
              AllOf(HasSubstr("tensor k is stored as Q8_K"), HasSubstr("Q6_K")));
  EXPECT_EQ((*c)->matrix("k").status().code(), Code::kUnsupported);
  EXPECT_EQ((*c)->matrix("model.embed_tokens.weight").status().code(), Code::kNotFound);
  EXPECT_EQ((*c)->side_file("tokenizer.json").status().code(), Code::kNotFound);
  ASSERT_NE(gguf_header(**c), nullptr);
  EXPECT_EQ(gguf_vocabulary(*gguf_header(**c))->tokens.size(), 1u);
}

TEST(GgufCheckpoint, IsKnownByItsFirstBytesToo) {
  const TempFolder folder;
  const auto path = folder.write("sha256-0123", GgufBuilder().tensor("w", {1}, 0, "1234").build());
  EXPECT_TRUE(open_checkpoint(path).ok());
  EXPECT_THAT(open_checkpoint(folder.write("notes.txt", "hello")).status().message(),
              HasSubstr("neither a folder nor"));
  EXPECT_THAT(open_checkpoint(folder.write("bad.gguf", "hello")).status().message(), HasSubstr("bad.gguf"));
}

/// Part `no` of `count`, with one tensor "t<no>" of one element.
std::string part(int no, int count, int announced, std::string_view tensor = "") {
  GgufBuilder b;
  b.number("split.no", GgufType::kU16, static_cast<uint16_t>(no));
  b.number("split.count", GgufType::kU16, static_cast<uint16_t>(count));
  b.number("split.tensors.count", GgufType::kI32, announced);
  b.tensor(tensor.empty() ? "t" + std::to_string(no) : std::string(tensor), {1}, 0,
           f32_bytes({static_cast<float>(no)}));
  return b.build();
}

TEST(GgufCheckpoint, FollowsSplitFiles) {
  const TempFolder folder;
  const auto first = folder.write("m-00001-of-00003.gguf", part(0, 3, 3));
  folder.write("m-00002-of-00003.gguf", part(1, 3, 3));
  EXPECT_THAT(open_checkpoint(first).status().message(),
              AllOf(HasSubstr("m-00003-of-00003.gguf is missing"), HasSubstr("part 3 of 3")));
  EXPECT_EQ(open_checkpoint(first).status().code(), Code::kNotFound);
  const auto last = folder.write("m-00003-of-00003.gguf", part(2, 3, 3));
  const auto c = open_checkpoint(first);
  ASSERT_TRUE(c.ok()) << c.status().message();
  ASSERT_EQ((*c)->tensors().size(), 3u);
  for (const char* name : {"t0", "t1", "t2"}) {
    float out = -1;
    decode_row(*(*c)->matrix(name), 0, 0, 1, &out);
    EXPECT_EQ(out, static_cast<float>(name[1] - '0'));
    (*c)->release(name);
  }
  EXPECT_THAT(open_checkpoint(last).status().message(), HasSubstr("open the first part"));
}

TEST(GgufCheckpoint, RefusesPartsThatDoNotBelongTogether) {
  const TempFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", part(0, 2, 2));
  folder.write("m-00002-of-00002.gguf", part(1, 3, 2));
  EXPECT_THAT(open_checkpoint(first).status().message(),
              HasSubstr("says it is part 2 of 3, expected part 2 of 2"));
  folder.write("m-00002-of-00002.gguf", part(0, 2, 2));
  EXPECT_THAT(open_checkpoint(first).status().message(), HasSubstr("says it is part 1 of 2"));
  folder.write("m-00002-of-00002.gguf", GgufBuilder().tensor("x", {1}, 0, "1234").build());
  EXPECT_EQ(open_checkpoint(first).status().code(), Code::kDataLoss);
  folder.write("m-00002-of-00002.gguf", part(1, 2, 2, "t0"));
  EXPECT_THAT(open_checkpoint(first).status().message(), HasSubstr("t0 appears twice"));
  folder.write("m-00002-of-00002.gguf", part(1, 2, 2));
  EXPECT_TRUE(open_checkpoint(first).ok());
  folder.write("m-00001-of-00002.gguf", part(0, 2, 5));
  EXPECT_THAT(open_checkpoint(first).status().message(),
              HasSubstr("hold 2 tensors, the first one announces 5"));
  const auto renamed = folder.write("model.gguf", part(0, 2, 2));
  EXPECT_THAT(open_checkpoint(renamed).status().message(), HasSubstr("-00001-of-00002.gguf"));
}

}  // namespace
}  // namespace skua
