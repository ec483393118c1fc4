// The parser of one safetensors file: what it reads, and every lie it must refuse.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "checkpoint/safetensors_builder.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<std::vector<SafetensorsTensor>> parse(const std::string& file) {
  return parse_safetensors(as_byte_span(file));
}

/// The message of the refusal, or "" if the file was accepted.
std::string refusal(const std::string& file) {
  const auto result = parse(file);
  if (result.ok()) return "";
  EXPECT_EQ(result.status().code(), Code::kDataLoss) << result.status().message();
  return result.status().message();
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                const std::string& data = "0123456789abcdef") {
  return raw_safetensors(
      R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", data);
}

TEST(Safetensors, ReadsTensorsOfEveryKnownType) {
  SafetensorsBuilder builder;
  const std::pair<const char*, size_t> types[] = {
      {"F64", 48}, {"F32", 24}, {"F16", 12}, {"BF16", 12},   {"F8_E4M3", 6}, {"I64", 48},
      {"I32", 24}, {"U32", 24}, {"I16", 12}, {"U16", 12},    {"I8", 6},      {"U8", 6},
      {"BOOL", 6}, {"U64", 48}, {"C64", 48}, {"F8_E5M2", 6}, {"F8_E8M0", 6}, {"F4", 3}};
  for (const auto& [type, bytes] : types) builder.filled(type, type, {2, 3}, bytes, type[0]);
  const std::string file = builder.build();
  const auto tensors = parse(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), std::size(types));
  for (size_t i = 0; i < std::size(types); ++i) {
    EXPECT_EQ((*tensors)[i].name, types[i].first);
    EXPECT_EQ((*tensors)[i].dtype, types[i].first);
    EXPECT_EQ((*tensors)[i].shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ((*tensors)[i].bytes.size(), types[i].second);
    EXPECT_EQ(static_cast<char>((*tensors)[i].bytes[0]), types[i].first[0]);
  }
  EXPECT_EQ((*tensors)[3].type, DType::kBF16);
  EXPECT_FALSE((*tensors)[13].type.has_value());
}

TEST(Safetensors, AcceptsMetadataPaddingEmptyTensorsAndHoles) {
  EXPECT_EQ(refusal(raw_safetensors(R"({"__metadata__":{"format":"pt","dtype":"x"}}    )")), "");
  EXPECT_EQ(refusal(raw_safetensors(
                R"({"__metadata__":null,"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
            "");
  EXPECT_EQ(refusal(raw_safetensors("{}")), "");
  EXPECT_EQ(refusal(one("F32", "[0, 4611686018427387904]", "[0, 0]", "")), "");
  EXPECT_EQ(refusal(one("F32", "[]", "[0, 4]", "0123")), "");
  EXPECT_EQ(refusal(one("F32", "[2]", "[8, 16]")), "");  // a hole before
  EXPECT_EQ(refusal(one("U8", "[1]", "[3, 4]", "0123")), "");
  const std::string file = one("U8", "[2]", "[3, 5]", "01234");
  const auto tensors = parse(file);
  EXPECT_EQ(static_cast<char>((*tensors)[0].bytes[1]), '4');
}

TEST(Safetensors, UnescapesNames) {
  const std::string file =
      raw_safetensors(R"({"a\u00e9\"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x");
  const auto tensors = parse(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ((*tensors)[0].name, "a\xC3\xA9\"b");
}

TEST(Safetensors, RefusesBrokenLengths) {
  EXPECT_THAT(refusal(""), HasSubstr("has 0 bytes in all"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("has 7 bytes in all"));
  EXPECT_THAT(refusal(raw_safetensors("{}", "", 3)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(raw_safetensors("{}", "", 100'000'001)), HasSubstr("limit"));
  EXPECT_THAT(refusal(raw_safetensors("{}", "", INT64_MAX)), HasSubstr("limit"));
  EXPECT_THAT(refusal(std::string(8, '\xFF') + "{}"), HasSubstr("limit"));
  EXPECT_THAT(refusal(raw_safetensors("", "")), HasSubstr("JSON"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
              HasSubstr("git-lfs"));
}

// B056, B058: offsets beyond the file, begin after end, 2^63.
TEST(Safetensors, RefusesOffsetsThatLie) {
  EXPECT_THAT(refusal(one("F32", "[1000,1000]", "[0,4000000]", "four")),
              AllOf(HasSubstr("tensor t"), HasSubstr("4 bytes of data")));
  EXPECT_THAT(refusal(one("F32", "[1]", "[8,4]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("F32", "[1]", "[13,17]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[9223372036854775808,16]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[18446744073709551600,18446744073709551615]")),
              HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[0,18446744073709551616]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[-16,0]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[0.0,16]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[0]")), HasSubstr("data_offsets must be"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[0,16,16]")), HasSubstr("data_offsets must be"));
  EXPECT_THAT(refusal(one("U8", "[16]", "[]")), HasSubstr("data_offsets must be"));
  EXPECT_THAT(refusal(one("U8", "[16]", "16")), HasSubstr("tensor t"));
}

// B134: products over dimensions that wrap.
TEST(Safetensors, RefusesShapesThatDoNotFitTheirBytes) {
  EXPECT_THAT(refusal(one("F32", "[3]", "[0,16]")), HasSubstr("needs 12 bytes"));
  EXPECT_THAT(refusal(one("F32", "[4]", "[0,15]")), HasSubstr("needs 16 bytes"));
  EXPECT_THAT(refusal(one("F32", "[4611686018427387905]", "[0,4]")), HasSubstr("more than 2^60"));
  EXPECT_THAT(refusal(one("U8", "[4294967296,4294967296]", "[0,0]")), HasSubstr("more than 2^60"));
  EXPECT_THAT(refusal(one("U8", "[9223372036854775808]", "[0,0]")), HasSubstr("2^63"));
  EXPECT_THAT(refusal(one("U8", "[-1]", "[0,1]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "[1.0]", "[0,1]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("U8", "4", "[0,4]")), HasSubstr("tensor t"));
  EXPECT_THAT(refusal(one("F4", "[3]", "[0,1]")), HasSubstr("needs 2 bytes"));
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(refusal(one("U8", many + "]", "[0,1]")), HasSubstr("64 dimensions"));
}

TEST(Safetensors, RefusesUnknownTypesAndIncompleteEntries) {
  EXPECT_THAT(refusal(one("F13", "[1]", "[9223372036854775808,16]")),
              HasSubstr("unknown dtype \"F13\"; known are F64, F32, F16"));
  EXPECT_THAT(refusal(one("f32", "[1]", "[0,4]")), HasSubstr("unknown dtype"));
  EXPECT_THAT(refusal(one("", "[1]", "[0,4]")), HasSubstr("unknown dtype"));
  EXPECT_THAT(refusal(raw_safetensors(R"({"t":{}})")), HasSubstr("needs dtype, shape and data_offsets"));
  EXPECT_THAT(refusal(raw_safetensors(R"({"t":{"dtype":"U8","shape":[0]}})")), HasSubstr("needs dtype"));
  EXPECT_THAT(refusal(raw_safetensors(R"({"t":1})")), HasSubstr("entry t"));
  EXPECT_THAT(refusal(one("F32", "7", "[0,4]")), HasSubstr("shape"));
  EXPECT_THAT(refusal(raw_safetensors(R"({"t":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})")),
              HasSubstr("dtype"));
  EXPECT_THAT(refusal(raw_safetensors(R"({"__metadata__":1})")), HasSubstr("__metadata__"));
  EXPECT_THAT(
      refusal(raw_safetensors(R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
      HasSubstr("\"dtype\" appears twice"));
}

TEST(Safetensors, RefusesBytesBehindTheLastTensor) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  EXPECT_EQ(refusal(raw_safetensors(header, "1234")), "");
  EXPECT_THAT(refusal(raw_safetensors(header, "12345")), HasSubstr("1 byte follows the last tensor"));
  EXPECT_THAT(refusal(raw_safetensors("{}", "123")), HasSubstr("3 bytes follow the last tensor"));
}

TEST(Safetensors, RefusesOverlapsAndDuplicates) {
  const std::string entry = R"({"dtype":"U8","shape":[4],"data_offsets":)";
  EXPECT_THAT(refusal(raw_safetensors("{\"a\":" + entry + "[0,4]},\"b\":" + entry + "[3,7]}}", "12345678")),
              HasSubstr("tensors a and b overlap"));
  EXPECT_THAT(refusal(raw_safetensors("{\"a\":" + entry + "[0,4]},\"b\":" + entry + "[0,4]}}", "12345678")),
              HasSubstr("overlap"));
  EXPECT_EQ(refusal(raw_safetensors("{\"a\":" + entry + "[4,8]},\"b\":" + entry + "[0,4]}}", "12345678")),
            "");
  EXPECT_THAT(refusal(raw_safetensors("{\"a\":" + entry + "[0,4]},\"a\":" + entry + "[4,8]}}", "12345678")),
              HasSubstr("tensor a appears twice"));
}

TEST(Safetensors, RefusesHeadersThatAreNoJson) {
  for (const char* header : {"[", "[]", "{", "{}}", "{}{}", "{} x", "{\"a\"}", "{\"a\":}", "nul", "\"\"",
                             "{\"a\":{\"dtype\":\"U8\"", "\xFF\xFE",
                             "{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                             "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},}"}) {
    EXPECT_NE(refusal(raw_safetensors(header)), "") << header;
  }
  EXPECT_NE(refusal(raw_safetensors(std::string(1'000'000, '['))), "");
  EXPECT_NE(refusal(raw_safetensors("{\"a\":" + std::string(1'000'000, '['))), "");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file =
      SafetensorsBuilder().filled("a", "F32", {2}, 8).filled("b", "BF16", {3}, 6).build();
  for (size_t n = 0; n < file.size(); ++n) EXPECT_NE(refusal(file.substr(0, n)), "") << n;
  EXPECT_EQ(refusal(file), "");
}

TEST(Safetensors, TypedReadsCopyValuesAndCheckTheType) {
  const TempFolder folder;
  const float values[] = {1.5f, -2.0f, 3.25f};
  const int64_t ids[] = {7, -1};
  const auto path = folder.write(
      "x.safetensors", SafetensorsBuilder()
                           .add("odd", "U8", {1}, "!")  // what follows is unaligned
                           .add("v", "F32", {3}, {reinterpret_cast<const char*>(values), sizeof(values)})
                           .add("ids", "I64", {2}, {reinterpret_cast<const char*>(ids), sizeof(ids)})
                           .build());
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(file->read_f32("v").value(), testing::ElementsAre(1.5f, -2.0f, 3.25f));
  EXPECT_THAT(file->read_i64("ids").value(), testing::ElementsAre(7, -1));
  EXPECT_EQ(file->read_f32("ids").status().code(), Code::kInvalidArgument);
  EXPECT_THAT(file->read_f32("w").status().message(), HasSubstr("tensor w does not exist"));
}

TEST(Safetensors, OpenNamesTheFile) {
  const TempFolder folder;
  EXPECT_EQ(SafetensorsFile::open(folder.path() / "no.safetensors").status().code(), Code::kNotFound);
  EXPECT_EQ(SafetensorsFile::open(folder.path()).status().code(), Code::kIo);
  const auto path = folder.write("bad.safetensors", "12345678");
  EXPECT_THAT(SafetensorsFile::open(path).status().message(), HasSubstr(path.string()));
}

TEST(Safetensors, ReadsTwoHundredThousandTensorsQuickly) {
  SafetensorsBuilder builder;
  for (int i = 0; i < 200'000; ++i) {
    builder.add("model.layers." + std::to_string(i / 1000) + ".mlp.experts." + std::to_string(i % 1000) +
                    ".up_proj.weight",
                "BF16", {2}, "abcd");
  }
  const std::string file = builder.build();
  const auto start = std::chrono::steady_clock::now();
  const auto tensors = parse(file);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ(tensors->size(), 200'000u);
  RecordProperty("seconds", std::to_string(seconds));
  std::printf("200000 tensors, header of %zu MB: %.3f s\n", file.size() / 1'000'000, seconds);
  EXPECT_LT(seconds, 10.0)
      << "not linear any more";  // takes about 0.2 s; sanitizers and busy machines are slower
}

}  // namespace
}  // namespace skua
