#include "checkpoint/memory_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/golden_weights.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::HasSubstr;

std::vector<std::byte> filled(size_t n) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

TEST(MemoryCheckpoint, ListsTensorsSortedAndFoldsLeadingDimensionsIntoRows) {
  MemoryCheckpoint c;
  const std::vector<float> six = {1, 2, 3, 4, 5, 6.0625f};
  ASSERT_TRUE(c.add_values("z", {3, 1, 2}, DType::kF32, six).ok());
  ASSERT_TRUE(c.add_values("a", {6}, DType::kF16, six).ok());
  ASSERT_TRUE(c.add_values("scalar", {}, DType::kBF16, std::vector<float>{6.0625f}).ok());
  ASSERT_EQ(c.tensors().size(), 3u);
  EXPECT_EQ(c.tensors()[0].name, "a");
  EXPECT_EQ(c.tensors()[2].name, "z");
  EXPECT_EQ(c.find("z")->stored_type, "f32");
  EXPECT_EQ(c.find("a")->bytes, 12u);
  EXPECT_EQ(c.find("nothing"), nullptr);

  const auto z = c.matrix("z");
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(z->rows, 3);
  EXPECT_EQ(z->cols, 2);
  float out[6];
  decode_row(*z, 2, 0, 2, out);
  EXPECT_EQ(out[1], 6.0625f);
  EXPECT_EQ(c.matrix("a")->rows, 1);
  const auto scalar = c.matrix("scalar");
  EXPECT_EQ(scalar->rows * scalar->cols, 1);
  decode_row(*scalar, 0, 0, 1, out);
  EXPECT_EQ(out[0], 6.0625f);  // has eight digits, so bf16 keeps it
}

TEST(MemoryCheckpoint, CutsAffineBytesIntoPlanes) {
  MemoryCheckpoint c;
  const Format format{FormatKind::kAffine, 3, 32, DType::kF16};
  const auto bytes = filled(2 * row_bytes(format, 64));
  ASSERT_TRUE(c.add_tensor("w", {2, 64}, format, bytes).ok());
  const auto m = c.matrix("w");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->planes[0][0], bytes[0]);
  EXPECT_EQ(m->planes[1][0], bytes[2 * 24]);
  EXPECT_EQ(m->planes[2][0], bytes[2 * 24 + 2 * 4]);
  EXPECT_EQ(m->row_stride_bytes, (std::array<uint64_t, 3>{24, 4, 4}));
  EXPECT_EQ(c.find("w")->stored_type, "affine3g32:f16");
}

TEST(MemoryCheckpoint, RefusesBytesThatDoNotFitTheShape) {
  MemoryCheckpoint c("here");
  EXPECT_THAT(c.add_tensor("w", {2, 32}, {FormatKind::kQ4_0}, filled(35)).message(),
              HasSubstr("needs 36 bytes"));
  EXPECT_THAT(c.add_tensor("w", {2, 33}, {FormatKind::kQ4_0}, filled(36)).message(),
              HasSubstr("multiples of 32"));
  EXPECT_EQ(c.add_tensor("w", {-1, 32}, {FormatKind::kQ4_0}, {}).code(), Code::kDataLoss);
  EXPECT_EQ(c.add_tensor("w", {INT64_MAX, 2}, DType::kF32, {}).code(), Code::kDataLoss);
  EXPECT_EQ(c.add_tensor("w", {INT64_MAX}, DType::kF32, {}).code(), Code::kDataLoss);
  const Format affine{FormatKind::kAffine, 4, 32, DType::kF32};
  EXPECT_EQ(c.add_tensor("w", {2, 64}, affine, filled(2 * row_bytes(affine, 64) - 1)).code(),
            Code::kDataLoss);
  EXPECT_EQ(c.add_tensor("w", {2, 64}, affine, filled(3)).code(), Code::kDataLoss);
  EXPECT_TRUE(c.tensors().empty());
  ASSERT_TRUE(c.add_tensor("w", {2}, DType::kF32, filled(8)).ok());
  EXPECT_EQ(c.add_tensor("w", {2}, DType::kF32, filled(8)).code(), Code::kInvalidArgument);
}

TEST(MemoryCheckpoint, NamesWhatItCannotGive) {
  MemoryCheckpoint c("here");
  ASSERT_TRUE(c.add_tensor("ids", {2}, DType::kI64, filled(16)).ok());
  EXPECT_EQ(c.matrix("ids").status().code(), Code::kUnsupported);
  EXPECT_THAT(c.matrix("ids").status().message(), HasSubstr("here: tensor ids is stored as i64"));
  EXPECT_EQ(c.matrix("w").status().code(), Code::kNotFound);
  EXPECT_EQ(c.side_file("tokenizer.json").status().code(), Code::kNotFound);
  c.set_side_file("tokenizer.json", "{}");
  EXPECT_EQ(c.side_file("tokenizer.json").value(), "{}");
}

uint16_t bits_at(const EncodedMatrix& m, size_t i) {
  uint16_t bits = 0;
  std::memcpy(&bits, m.planes[0] + 2 * i, 2);
  return bits;
}

// Expected bits were computed by a separate program from the rule's text (see golden_weights.cc).
TEST(Golden, WeightsFollowTheRule) {
  const TempFolder folder;
  folder.write("config.json", R"({"model_type": "made_up"})");
  folder.write("manifest.json", R"({"seed": 1, "tensors": [
    {"name": "lm_head.weight", "shape": [2, 4], "mean": 0.0, "std": 0.08},
    {"name": "model.norm.weight", "shape": [4], "mean": 1.0, "std": 0.1}]})");
  const auto c = open_golden(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ((*c)->config().find("model_type")->as_string(), "made_up");
  const auto head = (*c)->matrix("lm_head.weight");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->rows, 2);
  const uint16_t expected[] = {0x3E0A, 0xBDAD, 0xBD7F, 0x3D6E, 0xBD83, 0xBBD5, 0xBDAF, 0xBD2A};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(bits_at(*head, i), expected[i]) << i;
  const auto norm = (*c)->matrix("model.norm.weight");
  const uint16_t expected_norm[] = {0x3F60, 0x3F86, 0x3F8C, 0x3F58};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(bits_at(*norm, i), expected_norm[i]) << i;
}

TEST(Golden, SeedsUseAll64Bits) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("manifest.json", R"({"seed": 9223372036854775815, "tensors": [
    {"name": "a", "shape": [4], "mean": -0.5, "std": 2.0}]})");
  const auto c = open_golden(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  const auto a = (*c)->matrix("a");
  const uint16_t expected[] = {0x4002, 0x3FD5, 0x3F97, 0xBF10};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(bits_at(*a, i), expected[i]) << i;
}

TEST(Golden, BadManifestsAreErrorsThatNameTheFile) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  EXPECT_EQ(open_golden(folder.path()).status().code(), Code::kNotFound);
  for (const char* text :
       {"", "[]", R"({"seed": 1})", R"({"seed": 1.5, "tensors": []})",
        R"({"seed": 1, "tensors": [{"name": "a"}]})",
        R"({"seed": 1, "tensors": [{"name": "a", "shape": [-1], "mean": 0, "std": 1}]})",
        R"({"seed": 1, "tensors": [{"name": "a", "shape": [4611686018427387904, 8], "mean": 0, "std": 1}]})",
        R"({"seed": 1, "tensors": [{"name": "a", "shape": [1.5], "mean": 0, "std": 1}]})"}) {
    folder.write("manifest.json", text);
    const auto c = open_golden(folder.path());
    ASSERT_FALSE(c.ok()) << text;
    EXPECT_EQ(c.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(c.status().message(), HasSubstr("manifest.json")) << text;
  }
}

}  // namespace
}  // namespace skua
