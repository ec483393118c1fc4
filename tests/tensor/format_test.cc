// Every weight format against a float64 model written here from the format's definition: an encoder that
// places codes and scales, and the value computed in float64. Judged element by element.
#include "tensor/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace skua {
namespace {

const double kInf = std::numeric_limits<double>::infinity();

/// Rounds s*q + b to f32 once. s*q is exact in float64 (24 + 8 digits); the sum's own error decides ties.
float model_affine(double s, double q, double b) {
  const double p = s * q;
  const double sum = p + b;
  const double big = sum - p;
  const double error = (p - (sum - big)) + (b - big);
  const auto near = static_cast<float>(sum);
  if (!std::isfinite(near) || error == 0 || near == sum) return near;
  // sum is rounded itself: if it sits exactly between two floats, the lost part says which side is right.
  const float other = std::nextafter(near, sum > near ? INFINITY : -INFINITY);
  if (std::abs(sum - near) != std::abs(other - sum)) return near;
  return (error > 0) == (other > near) ? other : near;
}

void put16(std::vector<std::byte>& out, size_t at, uint16_t value) { std::memcpy(&out[at], &value, 2); }

void expect_value(float actual, float expected, const std::string& where) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << where << " got " << actual;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected))
        << where << " got " << actual << " expected " << expected;
  }
}

EncodedMatrix one_row(Format format, int64_t cols, const std::vector<std::byte>& bytes) {
  EncodedMatrix m;
  m.format = format;
  m.rows = 1;
  m.cols = cols;
  m.planes = {bytes.data(), nullptr, nullptr};
  m.row_stride_bytes = {bytes.size(), 0, 0};
  return m;
}

const std::vector<uint16_t> kF16Extremes = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3555,
                                            0xB555, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x2F1D};

/// The 32-column GGUF types: how many bits a code has, its offset, whether a minimum is stored.
struct SmallBlock {
  FormatKind kind;
  int bits;
  int offset;
  bool has_min;
  size_t bytes;
};
constexpr SmallBlock kSmallBlocks[] = {
    {FormatKind::kQ4_0, 4, 8, false, 18},  {FormatKind::kQ4_1, 4, 0, true, 20},
    {FormatKind::kQ5_0, 5, 16, false, 22}, {FormatKind::kQ5_1, 5, 0, true, 24},
    {FormatKind::kQ8_0, 8, 0, false, 34},
};

std::vector<std::byte> encode_small(const SmallBlock& type, uint16_t d, uint16_t m,
                                    const std::array<int, 32>& codes) {
  std::vector<std::byte> block(type.bytes);
  size_t at = 2;
  put16(block, 0, d);
  if (type.has_min) put16(block, 2, m), at = 4;
  if (type.bits == 8) {
    for (size_t j = 0; j < 32; ++j) block[at + j] = static_cast<std::byte>(codes[j]);
    return block;
  }
  if (type.bits == 5) {
    uint32_t high = 0;
    for (size_t j = 0; j < 32; ++j) high |= static_cast<uint32_t>(codes[j] >> 4) << j;
    std::memcpy(&block[at], &high, 4);
    at += 4;
  }
  for (size_t j = 0; j < 16; ++j) {
    block[at + j] = static_cast<std::byte>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
  }
  return block;
}

TEST(Format, SmallGgufBlocksHaveTheirValuesForEveryCodeAndExtremeScale) {
  for (const SmallBlock& type : kSmallBlocks) {
    const int n_codes = 1 << type.bits;
    for (const uint16_t d : kF16Extremes) {
      for (const uint16_t m : kF16Extremes) {
        if (!type.has_min && m != 0) continue;
        for (int shift = 0; shift < n_codes; shift += 16) {
          std::array<int, 32> codes;
          for (int j = 0; j < 32; ++j) codes[static_cast<size_t>(j)] = (j * 5 + shift) % n_codes;
          const auto block = encode_small(type, d, m, codes);
          float out[32];
          decode_row(one_row({type.kind}, 32, block), 0, 0, 32, out);
          for (size_t j = 0; j < 32; ++j) {
            const int q = type.bits == 8 ? static_cast<int8_t>(codes[j]) : codes[j] - type.offset;
            const double value = static_cast<double>(f16_to_f32(d)) * q;
            const float expected = type.has_min
                                       ? static_cast<float>(value + static_cast<double>(f16_to_f32(m)))
                                       : static_cast<float>(value);
            expect_value(out[j], expected,
                         format_name({type.kind}) + " d " + std::to_string(d) + " m " + std::to_string(m) +
                             " code " + std::to_string(codes[j]));
          }
        }
      }
    }
  }
}

TEST(Format, Q6KHasItsValuesForEveryCodeAndExtremeScale) {
  std::mt19937 random(7);
  for (const uint16_t d : kF16Extremes) {
    for (int round = 0; round < 16; ++round) {
      std::array<int, 256> codes;
      std::array<int, 16> scales;
      for (auto& code : codes) code = static_cast<int>(random() % 64);
      for (auto& scale : scales) scale = static_cast<int>(random() % 256) - 128;
      scales[0] = -128, scales[1] = 127, scales[2] = 0;
      std::vector<std::byte> block(210);
      for (size_t j = 0; j < 256; ++j) {  // column j: half h, line of 32 l, place i
        const size_t h = j / 128, l = j / 32 % 4, i = j % 32;
        block[h * 64 + (l % 2) * 32 + i] |= static_cast<std::byte>((codes[j] & 15) << (l >= 2 ? 4 : 0));
        block[128 + h * 32 + i] |= static_cast<std::byte>((codes[j] >> 4) << (2 * l));
      }
      for (size_t s = 0; s < 16; ++s) block[192 + s] = static_cast<std::byte>(scales[s]);
      put16(block, 208, d);
      float out[256];
      decode_row(one_row({FormatKind::kQ6_K}, 256, block), 0, 0, 256, out);
      for (size_t j = 0; j < 256; ++j) {
        const double expected = static_cast<double>(f16_to_f32(d)) * scales[j / 16] * (codes[j] - 32);
        expect_value(out[j], static_cast<float>(expected), "q6_k column " + std::to_string(j));
      }
    }
  }
}

TEST(Format, Mxfp4HasItsValuesForEveryCodeAndScaleInBothLayouts) {
  // E2M1 by its definition: sign, two bits of exponent (bias 1, subnormal at 0), one of mantissa.
  const auto e2m1 = [](unsigned code) {
    const unsigned exponent = code >> 1 & 3, mantissa = code & 1;
    const double magnitude =
        exponent == 0 ? mantissa * 0.5 : std::ldexp(1.0 + mantissa * 0.5, static_cast<int>(exponent) - 1);
    return (code & 8) != 0 ? -magnitude : magnitude;
  };
  for (int e = 0; e < 256; ++e) {
    std::vector<std::byte> block(17), codes(16), scales(1, static_cast<std::byte>(e));
    block[0] = scales[0];
    for (unsigned j = 0; j < 32; ++j) {
      const auto code = static_cast<std::byte>(j % 16);
      block[1 + j % 16] |= j < 16 ? code : code << 4;
      codes[j / 2] |= j % 2 == 0 ? code : code << 4;
    }
    float blocks[32], planes[32];
    decode_row(one_row({FormatKind::kMxfp4Block}, 32, block), 0, 0, 32, blocks);
    EncodedMatrix m = one_row({FormatKind::kMxfp4}, 32, codes);
    m.planes[1] = scales.data();
    decode_row(m, 0, 0, 32, planes);
    for (unsigned j = 0; j < 32; ++j) {
      const double expected = e == 255 ? NAN : std::ldexp(e2m1(j % 16), e - 127);
      const std::string where = "scale " + std::to_string(e) + " code " + std::to_string(j % 16);
      expect_value(blocks[j], static_cast<float>(expected) + 0.0f, where);  // no negative zero
      expect_value(planes[j], static_cast<float>(expected) + 0.0f, where);
    }
  }
}

/// Scales or biases of one type: a few extremes as bits.
std::vector<uint32_t> extremes(DType type) {
  switch (type) {
    case DType::kF16:
      return {kF16Extremes.begin(), kF16Extremes.end()};
    case DType::kBF16:
      return {0, 0x8000, 1, 0x8001, 0x007F, 0x0080, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x3DCD};
    default:
      return {0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF,
              0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3DCCCCCD, 0xBF800001, 0x4B7FFFFF};
  }
}

double element(DType type, uint32_t bits) {
  if (type == DType::kF16) return f16_to_f32(static_cast<uint16_t>(bits));
  if (type == DType::kBF16) return bf16_to_f32(static_cast<uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

/// Sets code i of a little-endian bit stream, bit by bit.
void set_code(std::vector<std::byte>& stream, int64_t i, int bits, unsigned code) {
  for (int b = 0; b < bits; ++b) {
    const auto at = static_cast<size_t>(i * bits + b);
    if ((code >> b) & 1) stream[at / 8] |= static_cast<std::byte>(1u << (at % 8));
  }
}

TEST(Format, AffineHasItsValuesForEveryWidthGroupScaleTypeCodeAndExtreme) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
        const auto values = extremes(type);
        const size_t width = dtype_bytes(type);
        const int64_t n_groups = static_cast<int64_t>(values.size()), cols = n_groups * group;
        std::vector<std::byte> stream(static_cast<size_t>(cols) * static_cast<size_t>(bits) / 8);
        std::vector<unsigned> codes(static_cast<size_t>(cols));
        for (int64_t i = 0; i < cols; ++i) {
          codes[static_cast<size_t>(i)] = static_cast<unsigned>(i * 37 % (1 << bits));
          set_code(stream, i, bits, codes[static_cast<size_t>(i)]);
        }
        for (size_t turn = 0; turn < values.size(); ++turn) {  // every scale meets every bias
          std::vector<std::byte> scales(values.size() * width), biases(values.size() * width);
          for (size_t g = 0; g < values.size(); ++g) {
            std::memcpy(&scales[g * width], &values[g], width);
            std::memcpy(&biases[g * width], &values[(g + turn) % values.size()], width);
          }
          EncodedMatrix m;
          m.format = {FormatKind::kAffine, static_cast<uint8_t>(bits), static_cast<uint16_t>(group), type};
          m.rows = 1;
          m.cols = cols;
          m.planes = {stream.data(), scales.data(), biases.data()};
          std::vector<float> out(static_cast<size_t>(cols));
          decode_row(m, 0, 0, cols, out.data());
          for (size_t i = 0; i < out.size(); ++i) {
            const size_t g = i / static_cast<size_t>(group);
            const double s = element(type, values[g]), b = element(type, values[(g + turn) % values.size()]);
            expect_value(out[i], model_affine(s, codes[i], b),
                         format_name(m.format) + " s " + std::to_string(s) + " b " + std::to_string(b) +
                             " q " + std::to_string(codes[i]));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Format, PlainElementsAreTakenBitForBit) {
  const std::vector<uint32_t> bits = {0, 0x80000000, 1, 0x7F7FFFFF, 0x7F800000, 0x3DCCCCCD};
  std::vector<std::byte> bytes(bits.size() * 4);
  std::memcpy(bytes.data(), bits.data(), bytes.size());
  std::vector<float> out(bits.size());
  decode_row(one_row(plain_format(DType::kF32), 6, bytes), 0, 0, 6, out.data());
  for (size_t i = 0; i < bits.size(); ++i) expect_value(out[i], std::bit_cast<float>(bits[i]), "f32");
  for (const DType type : {DType::kF16, DType::kBF16}) {
    std::vector<std::byte> all(65536 * 2);
    for (size_t i = 0; i < 65536; ++i) put16(all, 2 * i, static_cast<uint16_t>(i));
    std::vector<float> wide(65536);
    decode_row(one_row(plain_format(type), 65536, all), 0, 0, 65536, wide.data());
    for (uint32_t i = 0; i < 65536; ++i)
      expect_value(wide[i], static_cast<float>(element(type, i)), "16 bit");
  }
}

/// Some format of each kind, for the tests of geometry.
std::vector<Format> sample_formats() {
  std::vector<Format> formats;
  for (int kind = 0; kind <= static_cast<int>(FormatKind::kMxfp4); ++kind) {
    if (static_cast<FormatKind>(kind) != FormatKind::kAffine)
      formats.push_back({static_cast<FormatKind>(kind)});
  }
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      formats.push_back(
          {FormatKind::kAffine, static_cast<uint8_t>(bits), static_cast<uint16_t>(group), DType::kF16});
    }
  }
  return formats;
}

/// A random matrix of 5 rows in unaligned planes with room between rows.
struct RandomMatrix {
  std::array<std::vector<std::byte>, 3> storage;
  EncodedMatrix matrix;

  explicit RandomMatrix(const Format& format, int64_t cols) {
    std::mt19937 random(11);
    matrix.format = format;
    matrix.rows = 5;
    matrix.cols = cols;
    for (int p = 0; p < 3; ++p) {
      const auto i = static_cast<size_t>(p);
      const uint64_t row = plane_row_bytes(format, p, cols);
      if (row == 0) continue;
      matrix.row_stride_bytes[i] = row + 3;
      storage[i].resize(1 + 5 * (row + 3));
      for (auto& byte : storage[i]) byte = static_cast<std::byte>(random());
      matrix.planes[i] = storage[i].data() + 1;
    }
  }
};

TEST(Format, AnyRangeOfColumnsEqualsThatRangeOfTheWholeRow) {
  for (const Format& format : sample_formats()) {
    const int64_t cols = format.is_plain() ? 517 : 512;
    const RandomMatrix random(format, cols);
    std::vector<float> whole(static_cast<size_t>(cols)), part(static_cast<size_t>(cols));
    for (int64_t row = 0; row < 5; ++row) {
      decode_row(random.matrix, row, 0, cols, whole.data());
      for (int64_t col = 0; col < cols; col += 13) {
        for (const int64_t n : {0, 1, 2, 31, 33, 97, 260, 511}) {
          if (col + n > cols) continue;
          std::fill(part.begin(), part.end(), -77.0f);
          decode_row(random.matrix, row, col, n, part.data());
          ASSERT_EQ(std::memcmp(part.data(), whole.data() + col, static_cast<size_t>(n) * 4), 0)
              << format_name(format) << " row " << row << " columns " << col << "+" << n;
          if (n == cols) continue;
          ASSERT_EQ(part[static_cast<size_t>(n)], -77.0f) << "wrote past the range";
        }
      }
    }
  }
}

TEST(Format, RowMapChoosesTheStoredRow) {
  for (const Format& format : sample_formats()) {
    RandomMatrix random(format, 256);
    EncodedMatrix mapped = random.matrix;
    mapped.row_map = {4, 0, 3, 1, 2};
    float direct[256], through[256];
    for (int64_t row = 0; row < 5; ++row) {
      decode_row(random.matrix, mapped.row_map[static_cast<size_t>(row)], 0, 256, direct);
      decode_row(mapped, row, 0, 256, through);
      EXPECT_EQ(std::memcmp(direct, through, sizeof(direct)), 0) << format_name(format) << " row " << row;
    }
  }
}

TEST(Format, GeometryAndNames) {
  EXPECT_EQ(format_name({FormatKind::kQ4_1}), "q4_1");
  EXPECT_EQ(format_name({FormatKind::kQ6_K}), "q6_k");
  EXPECT_EQ(format_name({FormatKind::kAffine, 4, 64, DType::kBF16}), "affine4g64:bf16");
  EXPECT_EQ(row_bytes({FormatKind::kQ4_0}, 64), 36u);
  EXPECT_EQ(row_bytes({FormatKind::kQ4_1}, 64), 40u);
  EXPECT_EQ(row_bytes({FormatKind::kQ5_0}, 64), 44u);
  EXPECT_EQ(row_bytes({FormatKind::kQ5_1}, 64), 48u);
  EXPECT_EQ(row_bytes({FormatKind::kQ8_0}, 64), 68u);
  EXPECT_EQ(row_bytes({FormatKind::kQ6_K}, 512), 420u);
  EXPECT_EQ(row_bytes({FormatKind::kBF16}, 7), 14u);
  const Format affine{FormatKind::kAffine, 3, 32, DType::kF16};
  EXPECT_EQ(plane_row_bytes(affine, 0, 64), 24u);
  EXPECT_EQ(plane_row_bytes(affine, 1, 64), 4u);
  EXPECT_EQ(plane_row_bytes(affine, 2, 64), 4u);
  EXPECT_EQ(row_bytes(affine, 64), 32u);
  EXPECT_EQ(row_bytes({FormatKind::kQ4_K}, 512), 288u);
  EXPECT_EQ(row_bytes({FormatKind::kMxfp4Block}, 64), 34u);
  EXPECT_EQ(plane_row_bytes({FormatKind::kMxfp4}, 0, 64), 32u);
  EXPECT_EQ(plane_row_bytes({FormatKind::kMxfp4}, 1, 64), 2u);
  EXPECT_EQ(row_bytes({FormatKind::kMxfp4}, 64), 34u);
  EXPECT_EQ(block_cols({FormatKind::kF32}), 1);
  EXPECT_EQ(block_cols({FormatKind::kQ8_0}), 32);
  EXPECT_EQ(block_cols({FormatKind::kQ6_K}), 256);
  EXPECT_EQ(block_cols(affine), 32);
}

TEST(Format, ModelOfTheSumBreaksTiesByTheLostPart) {
  // 1 + 2^-24 is the tie between 1 and 1 + 2^-23; a part too small for float64 must still decide it.
  EXPECT_EQ(model_affine(1, 1, 0x1p-24), 1.0f);
  EXPECT_EQ(model_affine(0x1p-80, 1, 0x1.000001p0), 0x1.000002p0f);
  EXPECT_EQ(model_affine(-0x1p-80, 1, 0x1.000001p0), 1.0f);
  EXPECT_EQ(model_affine(kInf, 1, 0), INFINITY);
}

}  // namespace
}  // namespace skua
