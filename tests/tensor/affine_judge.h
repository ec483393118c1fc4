// Judges an affine matrix against what mlx dequantizes from the same bytes.
// mlx works in the scale's type T and rounds twice, T(T(s q) + b); ours is s q + b rounded once, to f32. Both
// are checked exactly, from codes, scales and biases taken apart here.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensor/format.h"

namespace skua {

/// The codes of a row: the same stream under scales of one and biases of zero.
inline std::vector<float> affine_codes(const EncodedMatrix& matrix, int64_t row) {
  EncodedMatrix bare = matrix;
  bare.format.scale_type = DType::kF32;
  const auto n_groups = static_cast<size_t>(matrix.cols / matrix.format.group);
  const std::vector<float> ones(n_groups, 1.0f), zeros(n_groups, 0.0f);
  bare.planes[1] = reinterpret_cast<const std::byte*>(ones.data());
  bare.planes[2] = reinterpret_cast<const std::byte*>(zeros.data());
  bare.row_stride_bytes[1] = bare.row_stride_bytes[2] = 0;
  std::vector<float> codes(static_cast<size_t>(matrix.cols));
  decode_row(bare, row, 0, matrix.cols, codes.data());
  return codes;
}

/// Scales (plane 1) or biases (plane 2) of a row, widened.
inline std::vector<float> affine_plane(const EncodedMatrix& matrix, int plane, int64_t row) {
  EncodedMatrix plain;
  plain.format = plain_format(matrix.format.scale_type);
  plain.rows = 1;
  plain.cols = matrix.cols / matrix.format.group;
  plain.planes[0] = matrix.row_plane(plane, row);
  std::vector<float> out(static_cast<size_t>(plain.cols));
  decode_row(plain, 0, 0, plain.cols, out.data());
  return out;
}

/// Compares every element; `mlx` holds mlx's values row by row. Returns how many were compared.
inline int expect_equals_mlx(const EncodedMatrix& matrix, const std::vector<float>& mlx,
                             const std::string& name) {
  const auto cols = static_cast<size_t>(matrix.cols);
  const DType type = matrix.format.scale_type;
  EXPECT_EQ(mlx.size(), cols * static_cast<size_t>(matrix.rows)) << name;
  if (testing::Test::HasFailure()) return 0;
  std::vector<float> ours(cols);
  int compared = 0;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    decode_row(matrix, row, 0, matrix.cols, ours.data());
    const auto q = affine_codes(matrix, row), s = affine_plane(matrix, 1, row),
               b = affine_plane(matrix, 2, row);
    for (size_t i = 0; i < cols; ++i, ++compared) {
      const size_t g = i / matrix.format.group;
      const double product = static_cast<double>(s[g]) * q[i];  // exact
      const auto theirs = static_cast<float>(round_to(type, round_to(type, product) + b[g]));
      EXPECT_EQ(mlx[static_cast<size_t>(row) * cols + i], theirs)
          << name << " row " << row << " column " << i;
      EXPECT_EQ(ours[i], static_cast<float>(product + b[g])) << name << " row " << row << " column " << i;
    }
  }
  return compared;
}

}  // namespace skua
