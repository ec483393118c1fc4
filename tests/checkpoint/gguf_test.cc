// The parser of one GGUF file: what it reads, and every lie it must refuse.
#include "checkpoint/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "checkpoint/gguf_builder.h"
#include "checkpoint/safetensors_builder.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<GgufHeader> parse(const std::string& file) { return parse_gguf(as_byte_span(file)); }

std::string refusal(const std::string& file) {
  const auto result = parse(file);
  return result.ok() ? "" : result.status().message();
}

TEST(Gguf, ReadsMetadataOfEveryType) {
  GgufBuilder b;
  b.number("u8", GgufType::kU8, uint8_t{200}).number("i8", GgufType::kI8, int8_t{-100});
  b.number("u16", GgufType::kU16, uint16_t{60000}).number("i16", GgufType::kI16, int16_t{-30000});
  b.number("u32", GgufType::kU32, uint32_t{4000000000}).number("i32", GgufType::kI32, int32_t{-2000000000});
  b.number("u64", GgufType::kU64, UINT64_MAX).number("i64", GgufType::kI64, INT64_MIN);
  b.number("f32", GgufType::kF32, 0.5f)
      .number("f64", GgufType::kF64, 0.1)
      .number("yes", GgufType::kBool, uint8_t{1});
  b.text("name", "caf\xC3\xA9")
      .array("numbers", GgufType::kI16, 2, gguf_number(int16_t{-1}) + gguf_number(int16_t{2}));
  b.texts("words", {"a", "", "bc"});
  const std::string file = b.build();
  const auto header = parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(
      header->metadata.dump(),
      R"({"u8":200,"i8":-100,"u16":60000,"i16":-30000,"u32":4000000000,"i32":-2000000000,)"
      R"("u64":18446744073709551615,"i64":-9223372036854775808,"f32":0.5,"f64":0.1,"yes":true,"name":"café",)"
      R"("numbers":[-1,2],"words":["a","","bc"]})");
  EXPECT_EQ(header->version, 3u);
  EXPECT_EQ(header->arrays.size(), 2u);
}

TEST(Gguf, ReadsTensorsWithDimensionsReversed) {
  GgufBuilder b;
  b.version = 2;
  b.tensor("a", {32, 3}, 3, std::string(60, 'a')).tensor("b", {5}, 0, std::string(20, 'b'));
  b.tensor("c", {256, 2, 2}, 14, std::string(840, 'c')).tensor("d", {256}, 15, std::string(292, 'd'));
  const std::string file = b.build();
  const auto header = parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  ASSERT_EQ(header->tensors.size(), 4u);
  EXPECT_EQ(header->tensors[0].shape, (std::vector<int64_t>{3, 32}));
  EXPECT_EQ(header->tensors[0].format, (Format{FormatKind::kQ4_1}));
  EXPECT_EQ(header->tensors[2].shape, (std::vector<int64_t>{2, 2, 256}));
  EXPECT_EQ(header->tensors[2].bytes.size(), 840u);
  EXPECT_EQ(static_cast<char>(header->tensors[1].bytes[19]), 'b');
  EXPECT_EQ(header->tensors[3].type, "Q8_K");
  EXPECT_FALSE(header->tensors[3].format.has_value());
}

TEST(Gguf, HonoursTheAlignmentKey) {
  GgufBuilder b;
  b.alignment = 256;
  b.number("general.alignment", GgufType::kU32, uint32_t{256});
  b.tensor("a", {1}, 0, "1234").tensor("b", {1}, 0, "5678");
  const std::string file = b.build();
  const auto header = parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(static_cast<char>(header->tensors[1].bytes[0]), '5');
}

TEST(Gguf, RefusesABadAlignmentKey) {
  EXPECT_THAT(refusal(GgufBuilder().text("general.alignment", "32").build()), HasSubstr("power of two"));
  EXPECT_THAT(refusal(GgufBuilder().number("general.alignment", GgufType::kF32, 32.0f).build()),
              HasSubstr("power of"));
  EXPECT_THAT(refusal(GgufBuilder().number("general.alignment", GgufType::kU32, 0u).build()),
              HasSubstr("power of two"));
  EXPECT_THAT(refusal(GgufBuilder().number("general.alignment", GgufType::kU32, 24u).build()),
              HasSubstr("power of"));
  EXPECT_THAT(refusal(GgufBuilder().number("general.alignment", GgufType::kI32, -32).build()),
              HasSubstr("power of two"));
  EXPECT_THAT(refusal(GgufBuilder().number("general.alignment", GgufType::kU64, UINT64_MAX).build()),
              HasSubstr("power"));
  EXPECT_THAT(refusal(GgufBuilder().array("general.alignment", GgufType::kU8, 0, "").build()),
              HasSubstr("it is []"));
  GgufBuilder large;
  large.array("general.alignment", GgufType::kU8, 70'000, std::string(70'000, '\1'));
  EXPECT_THAT(refusal(large.build()), HasSubstr("array"));
}

TEST(Gguf, RefusesWhatIsNoGguf) {
  EXPECT_THAT(refusal(""), HasSubstr("has 0 bytes"));
  EXPECT_THAT(refusal("GGU"), HasSubstr("has 3 bytes"));
  EXPECT_THAT(refusal("GGML........................"), HasSubstr("no GGUF file"));
  GgufBuilder b;
  b.version = 1;
  EXPECT_THAT(refusal(b.build()), HasSubstr("GGUF version 1; skua reads versions 2 and 3"));
  b.version = 4;
  EXPECT_THAT(refusal(b.build()), HasSubstr("GGUF version 4"));
  b.version = 0x03000000;
  EXPECT_THAT(refusal(b.build()), HasSubstr("big-endian"));
  EXPECT_EQ(parse(b.build()).status().code(), Code::kUnsupported);
  EXPECT_EQ(refusal(GgufBuilder().build()), "");
}

// B136: counts that would drive huge allocations are compared with the bytes left.
TEST(Gguf, RefusesCountsThatTheFileCannotHold) {
  const auto start = std::chrono::steady_clock::now();
  GgufBuilder tensors;
  tensors.extra_tensors = uint64_t{1} << 60;
  EXPECT_THAT(refusal(tensors.build()), HasSubstr("1152921504606846976 tensors"));
  GgufBuilder pairs;
  pairs.extra_pairs = uint64_t{1} << 60;
  EXPECT_THAT(refusal(pairs.build()), HasSubstr("metadata entries"));
  pairs.extra_pairs = 1;
  EXPECT_NE(refusal(pairs.build()), "");
  const uint64_t counts[] = {4, uint64_t{1} << 50, (uint64_t{1} << 61) + 1, UINT64_MAX};
  for (const uint64_t count : counts) {
    for (const GgufType type : {GgufType::kU64, GgufType::kString}) {
      EXPECT_THAT(refusal(GgufBuilder().array("x", type, count, "12345678").build()),
                  AllOf(HasSubstr("metadata x"), HasSubstr("an array is said to have")))
          << count;
    }
  }
  for (const uint64_t size : {uint64_t{1} << 40, uint64_t{9}, UINT64_MAX, UINT64_MAX - 7}) {
    EXPECT_THAT(refusal(GgufBuilder().raw("x", 8, gguf_number(size) + "12345678").build()),
                HasSubstr("metadata x"));
    EXPECT_NE(refusal(GgufBuilder().array("x", GgufType::kString, 1, gguf_number(size) + "12345678").build()),
              "");
    GgufBuilder key;
    key.extra_pairs = 1;
    EXPECT_THAT(refusal(key.build() + gguf_number(size) + "12345678"), HasSubstr("name of metadata entry 0"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Gguf, RefusesUnknownAndNestedTypes) {
  EXPECT_THAT(refusal(GgufBuilder().raw("x", 13, "12345678").build()), HasSubstr("unknown value type 13"));
  EXPECT_THAT(refusal(GgufBuilder().raw("x", UINT32_MAX, "12345678").build()),
              HasSubstr("unknown value type"));
  EXPECT_THAT(refusal(GgufBuilder().array("x", static_cast<GgufType>(13), 1, "12345678").build()),
              HasSubstr("unknown array element type 13"));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += gguf_number(uint32_t{9}) + gguf_number(uint64_t{1});
  EXPECT_THAT(refusal(GgufBuilder().raw("x", 9, nested).build()), HasSubstr("arrays of arrays"));
  EXPECT_THAT(refusal(GgufBuilder().number("x", GgufType::kBool, uint8_t{2}).build()), HasSubstr("boolean"));
  EXPECT_THAT(refusal(GgufBuilder().text("x", "a").text("x", "b").build()), HasSubstr("x appears twice"));
}

// B134: products and sums over dimensions, each of which could wrap.
TEST(Gguf, RefusesShapesWhoseSizesWrap) {
  const std::string data(4096, 'x');
  const auto one = [&](const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0) {
    return refusal(GgufBuilder().info("t", dims, type, offset).data(data).build());
  };
  EXPECT_NE(one({1152, (uint64_t{1} << 42) + 1}, 12), "");
  EXPECT_NE(one({1152, (uint64_t{1} << 42) + 1}, 0), "");
  EXPECT_NE(one({(uint64_t{1} << 62) - 1}, 0), "");
  EXPECT_NE(one({uint64_t{1} << 62}, 0), "");
  EXPECT_NE(one({uint64_t{1} << 63}, 0), "");
  EXPECT_NE(one({UINT64_MAX - 3}, 24), "");
  EXPECT_NE(one({uint64_t{1} << 32, uint64_t{1} << 32}, 24), "");
  EXPECT_NE(one({uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16}, 24), "");
  EXPECT_NE(one({16}, 0, UINT64_MAX - 31), "");
  EXPECT_NE(one({16}, 0, uint64_t{1} << 63), "");
  EXPECT_EQ(one({0, uint64_t{1} << 62}, 0), "");  // no elements, no bytes
  EXPECT_EQ(one({1024}, 0), "");
}

// B137: ranges beyond the file, by a lot and by a little.
TEST(Gguf, RefusesTensorsBeyondTheFile) {
  EXPECT_THAT(refusal(GgufBuilder().info("t", {1 << 24}, 0, 0).data(std::string(100, 'x')).build()),
              AllOf(HasSubstr("tensor t"), HasSubstr("67108864 bytes at offset 0")));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {25}, 0, 32).data(std::string(131, 'x')).build()),
              HasSubstr("tensor t"));
  EXPECT_EQ(refusal(GgufBuilder().info("t", {25}, 0, 32).data(std::string(132, 'x')).build()), "");
  EXPECT_THAT(refusal(GgufBuilder().info("t", {1}, 0, 0).build()), HasSubstr("0 bytes of data"));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {1}, 0, 4).data("12345678").build()), HasSubstr("alignment"));
}

TEST(Gguf, RefusesBadTensorInfos) {
  const std::string data(4096, 'x');
  EXPECT_THAT(refusal(GgufBuilder().info("t", {33}, 2, 0).data(data).build()),
              HasSubstr("no whole blocks of 32"));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {128, 2}, 14, 0).data(data).build()),
              HasSubstr("blocks of 256"));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {1, 1, 1, 1, 1}, 0, 0).data(data).build()),
              HasSubstr("5 dimensions"));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {1}, 4, 0).data(data).build()),
              AllOf(HasSubstr("type number 4"),
                    HasSubstr("Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, BF16, MXFP4")));
  EXPECT_THAT(refusal(GgufBuilder().info("t", {8}, 0, 0).info("u", {8}, 0, 0).data(data).build()),
              HasSubstr("t and u overlap"));
  GgufBuilder dims;
  dims.extra_tensors = 1;
  EXPECT_THAT(refusal(dims.build() + gguf_text("t") + gguf_number(UINT32_MAX) + std::string(64, 'x')),
              HasSubstr("4294967295 dimensions"));
  EXPECT_THAT(refusal(dims.build() + gguf_number(uint64_t{1} << 40) + std::string(64, 'x')),
              HasSubstr("inside a tensor's name"));
}

TEST(Gguf, EveryTruncationIsRefused) {
  GgufBuilder b;
  b.text("a", "b").texts("words", {"one", "two"}).number("n", GgufType::kU32, 7u);
  b.tensor("t", {32}, 2, std::string(18, 't'));
  const std::string file = b.build();
  for (size_t n = 0; n < file.size(); ++n) EXPECT_NE(refusal(file.substr(0, n)), "") << n;
  EXPECT_EQ(refusal(file), "");
}

TEST(Gguf, VocabularyStaysInTheFile) {
  GgufBuilder b;
  b.texts("tokenizer.ggml.tokens", {"<s>", "\xFF", std::string("a\0b", 3)});
  b.array("tokenizer.ggml.scores", GgufType::kF32, 3,
          gguf_number(-1.0f) + gguf_number(0.5f) + gguf_number(2.0f));
  b.array("tokenizer.ggml.token_type", GgufType::kI32, 3, gguf_number(3) + gguf_number(6) + gguf_number(1));
  b.texts("tokenizer.ggml.merges", {"a b"});
  const std::string file = b.build();
  const auto header = parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->metadata.dump(), "{}");
  const auto vocabulary = gguf_vocabulary(*header);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().message();
  EXPECT_THAT(vocabulary->tokens, ElementsAre("<s>", "\xFF", std::string_view("a\0b", 3)));
  EXPECT_THAT(vocabulary->scores, ElementsAre(-1.0f, 0.5f, 2.0f));
  EXPECT_THAT(vocabulary->token_types, ElementsAre(3, 6, 1));
  EXPECT_THAT(vocabulary->merges, ElementsAre("a b"));
  EXPECT_TRUE(vocabulary->tokens[0].data() > file.data() &&
              vocabulary->tokens[0].data() < file.data() + file.size());
}

TEST(Gguf, VocabularyErrorsNameTheArray) {
  const auto error = [](const GgufBuilder& b) {
    const std::string file = b.build();
    const auto header = parse(file);
    return header.ok() ? gguf_vocabulary(*header).status().message() : header.status().message();
  };
  EXPECT_THAT(error(GgufBuilder()), HasSubstr("no tokenizer.ggml.tokens"));
  EXPECT_THAT(error(GgufBuilder().text("tokenizer.ggml.tokens", "x")), HasSubstr("should be an array"));
  EXPECT_THAT(error(GgufBuilder().array("tokenizer.ggml.tokens", GgufType::kU8, 2, "ab")),
              HasSubstr("strings"));
  const auto tokens = [] { return GgufBuilder().texts("tokenizer.ggml.tokens", {"a", "b"}); };
  EXPECT_THAT(error(tokens().array("tokenizer.ggml.scores", GgufType::kF32, 1, "abcd")),
              HasSubstr("scores has 1 elements for 2 tokens"));
  EXPECT_THAT(error(tokens().array("tokenizer.ggml.token_type", GgufType::kF32, 2, "abcdefgh")),
              HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(error(tokens().array("tokenizer.ggml.token_type", GgufType::kU32, 2,
                                   "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
              HasSubstr("above 2^31"));
}

TEST(Gguf, LongArraysStayInTheFileAndAreNamed) {
  GgufBuilder b;
  b.array("small", GgufType::kU8, 3, "abc").array("large", GgufType::kU8, 65'534, std::string(65'534, 'x'));
  b.array("fits", GgufType::kU8, 65'533, std::string(65'533, 'y'));
  const std::string file = b.build();
  const auto header = parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_THAT(header->large_arrays, ElementsAre("large"));
  EXPECT_EQ(header->metadata.find("large"), nullptr);
  EXPECT_EQ(header->metadata.find("fits")->size(), 65'533u);
  EXPECT_EQ(header->arrays.find("large")->second.count, 65'534u);
}

}  // namespace
}  // namespace skua
