// decode_row against what other programs decode: the `gguf` package, and mlx (tools/fixtures makes the
// files).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tensor/affine_judge.h"
#include "tensor/fixture_file.h"
#include "tensor/format.h"

namespace skua {
namespace {

TEST(Fixtures, GgufBlocksEqualTheGgufPackageBitForBit) {
  const Records records = read_records(SKUA_TEST_DATA "/tensor/data/gguf_blocks.bin");
  int compared = 0;
  for (const FormatKind kind :
       {FormatKind::kQ4_0, FormatKind::kQ4_1, FormatKind::kQ5_0, FormatKind::kQ5_1, FormatKind::kQ8_0,
        FormatKind::kQ2_K, FormatKind::kQ3_K, FormatKind::kQ4_K, FormatKind::kQ5_K, FormatKind::kQ6_K,
        FormatKind::kIQ4_NL, FormatKind::kIQ4_XS, FormatKind::kMxfp4Block}) {
    const std::string full = format_name({kind}), name = full.substr(0, full.find(':'));
    const auto& blocks = records.at(name + "/blocks");
    const auto& values = records.at(name + "/values");
    EncodedMatrix m;
    m.format = {kind};
    m.rows = 1;
    m.cols = static_cast<int64_t>(values.size() / 4);
    m.planes[0] = blocks.data();
    ASSERT_EQ(plane_row_bytes(m.format, 0, m.cols), blocks.size());
    std::vector<float> out(static_cast<size_t>(m.cols)), expected(out.size());
    std::memcpy(expected.data(), values.data(), values.size());
    decode_row(m, 0, 0, m.cols, out.data());
    for (size_t i = 0; i < out.size(); ++i, ++compared) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(out[i])) << name << " " << i;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected[i])) << name << " " << i;
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

/// One matrix of mlx_affine.bin.
struct MlxCase {
  EncodedMatrix matrix;
  std::vector<float> values;  // what mlx dequantizes, widened
};

std::vector<float> widen(DType type, const std::vector<std::byte>& bytes) {
  EncodedMatrix m;
  m.format = plain_format(type);
  m.rows = 1;
  m.cols = static_cast<int64_t>(bytes.size() / dtype_bytes(type));
  m.planes[0] = bytes.data();
  std::vector<float> out(static_cast<size_t>(m.cols));
  decode_row(m, 0, 0, m.cols, out.data());
  return out;
}

MlxCase mlx_case(const Records& records, const Format& format) {
  const std::string name = format_name(format);
  MlxCase c;
  c.matrix.format = format;
  c.matrix.rows = 2;
  c.matrix.cols = 128;
  const char* parts[] = {"/codes", "/scales", "/biases"};
  for (size_t p = 0; p < 3; ++p) {
    const auto& bytes = records.at(name + parts[p]);
    c.matrix.planes[p] = bytes.data();
    c.matrix.row_stride_bytes[p] = plane_row_bytes(format, static_cast<int>(p), 128);
    EXPECT_EQ(bytes.size(), 2 * c.matrix.row_stride_bytes[p]) << name;
  }
  c.values = widen(format.scale_type, records.at(name + "/values"));
  return c;
}

TEST(Fixtures, AffineEqualsMlxAfterItsOwnRoundings) {
  const Records records = read_records(SKUA_TEST_DATA "/tensor/data/mlx_affine.bin");
  int compared = 0;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        const Format format{FormatKind::kAffine, static_cast<uint8_t>(bits), static_cast<uint16_t>(group),
                            type};
        const MlxCase c = mlx_case(records, format);
        compared += expect_equals_mlx(c.matrix, c.values, format_name(format));
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(compared, 6 * 3 * 3 * 2 * 128);
}

}  // namespace
}  // namespace skua
