// The affine quantizer: how near values come back, and which value comes back exactly. That its choices are
// mlx's is checked by tools/quantize_parity, which needs mlx.
#include "tensor/encode_affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace skua {
namespace {

struct Encoded {
  Format format;
  int64_t cols;
  std::vector<std::byte> planes[3];
  std::vector<float> decode() const {
    EncodedMatrix matrix{.format = format, .rows = 1, .cols = cols};
    for (size_t p = 0; p < 3; ++p) matrix.planes[p] = planes[p].data();
    std::vector<float> out(static_cast<size_t>(cols));
    decode_row(matrix, 0, 0, cols, out.data());
    return out;
  }
};

Encoded encode(int bits, int group, const std::vector<float>& x) {
  Encoded out{{FormatKind::kAffine, static_cast<uint8_t>(bits), static_cast<uint16_t>(group), DType::kF32},
              static_cast<int64_t>(x.size()),
              {}};
  for (int p = 0; p < 3; ++p) out.planes[p].resize(plane_row_bytes(out.format, p, out.cols));
  encode_affine_row(out.format, x.data(), out.cols, out.planes[0].data(), out.planes[1].data(),
                    out.planes[2].data());
  return out;
}

TEST(EncodeAffine, EveryValueComesBackWithinOneStep) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0.01f, 0.05f);
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      std::vector<float> x(256);
      for (float& v : x) v = normal(rng);
      const std::vector<float> back = encode(bits, group, x).decode();
      for (size_t begin = 0; begin < x.size(); begin += static_cast<size_t>(group)) {
        const auto [low, high] = std::minmax_element(x.begin() + static_cast<int64_t>(begin),
                                                     x.begin() + static_cast<int64_t>(begin) + group);
        const float step = (*high - *low) / static_cast<float>((1 << bits) - 1);
        const float edge = std::fabs(*low) > std::fabs(*high) ? *low : *high;
        bool edge_met = false;
        for (size_t i = begin; i < begin + static_cast<size_t>(group); ++i) {
          // The step grows when zero is moved onto a code: by one half in number_of_steps at most.
          EXPECT_LE(std::fabs(back[i] - x[i]), 1.01f * step) << bits << " bits, group " << group << ", " << i;
          edge_met = edge_met || back[i] == edge;
        }
        EXPECT_TRUE(edge_met) << bits << " bits, group " << group;
      }
    }
  }
}

TEST(EncodeAffine, OnlyTwoValuesAreKept) {
  std::vector<float> x(32, 0.0f);
  for (size_t i = 0; i < x.size(); i += 3) x[i] = -1.5f;
  const std::vector<float> back = encode(4, 32, x).decode();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 1e-7f);
}

TEST(EncodeAffine, ConstantGroupsComeBack) {
  EXPECT_EQ(encode(4, 32, std::vector<float>(32, 0.0f)).decode(), std::vector<float>(32, 0.0f));
  for (const float v : encode(8, 32, std::vector<float>(32, 0.75f)).decode()) EXPECT_FLOAT_EQ(v, 0.75f);
}

}  // namespace
}  // namespace skua
