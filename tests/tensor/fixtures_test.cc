// decode_row against what other programs decode: the `gguf` package, and mlx (tools/fixtures makes the
// files).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tensor/fixture_file.h"
#include "tensor/format.h"

namespace skua {
namespace {

TEST(Fixtures, GgufBlocksEqualTheGgufPackageBitForBit) {
  const Records records = read_records(SKUA_TEST_DATA "/tensor/data/gguf_blocks.bin");
  int compared = 0;
  for (const FormatKind kind : {FormatKind::kQ4_0, FormatKind::kQ4_1, FormatKind::kQ5_0, FormatKind::kQ5_1,
                                FormatKind::kQ8_0, FormatKind::kQ6_K}) {
    const std::string name = format_name({kind});
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
  EXPECT_GT(compared, 4000);
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

/// The codes themselves: the same stream under scales of one and biases of zero.
std::vector<float> decode_codes(const EncodedMatrix& matrix, int64_t row) {
  EncodedMatrix plain = matrix;
  plain.format.scale_type = DType::kF32;
  const std::vector<float> ones(4, 1.0f), zeros(4, 0.0f);
  plain.planes[1] = reinterpret_cast<const std::byte*>(ones.data());
  plain.planes[2] = reinterpret_cast<const std::byte*>(zeros.data());
  plain.row_stride_bytes[1] = plain.row_stride_bytes[2] = 0;
  std::vector<float> codes(128);
  decode_row(plain, row, 0, 128, codes.data());
  return codes;
}

// mlx works in the scale's type T and rounds twice, T(T(s q) + b); ours is s q + b rounded once, to f32.
TEST(Fixtures, AffineEqualsMlxAfterItsOwnRoundings) {
  const Records records = read_records(SKUA_TEST_DATA "/tensor/data/mlx_affine.bin");
  int compared = 0;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        const Format format{FormatKind::kAffine, static_cast<uint8_t>(bits), static_cast<uint16_t>(group),
                            type};
        const MlxCase c = mlx_case(records, format);
        for (int64_t row = 0; row < 2; ++row) {
          float ours[128];
          decode_row(c.matrix, row, 0, 128, ours);
          const auto codes = decode_codes(c.matrix, row);
          const size_t n_groups = static_cast<size_t>(128 / group);
          const auto s = widen(type, records.at(format_name(format) + "/scales"));
          const auto b = widen(type, records.at(format_name(format) + "/biases"));
          for (size_t i = 0; i < 128; ++i, ++compared) {
            const size_t g = static_cast<size_t>(row) * n_groups + i / static_cast<size_t>(group);
            const double product = static_cast<double>(s[g]) * codes[i];  // exact
            const double mlx = round_to(type, round_to(type, product) + b[g]);
            ASSERT_EQ(c.values[static_cast<size_t>(row) * 128 + i], static_cast<float>(mlx))
                << format_name(format) << " row " << row << " column " << i;
            ASSERT_EQ(ours[i], static_cast<float>(product + b[g]))
                << format_name(format) << " row " << row << " column " << i;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 6 * 3 * 3 * 2 * 128);
}

}  // namespace
}  // namespace skua
