// Random weights: codes are random bytes, scales and offsets are chosen so that values have the wanted size.
#include "backend/host_random.h"

#include <cmath>
#include <cstring>

#include "base/check.h"

namespace skua::test {
namespace {

/// Bytes and f16 fields of a GGUF block, and the largest |code| that its scale multiplies.
struct BlockFacts {
  size_t bytes;
  size_t scale_at;
  size_t offset_at;  // 0 = none
  double max_code;
};

BlockFacts block_facts(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ4_0:
      return {18, 0, 0, 8};
    case FormatKind::kQ4_1:
      return {20, 0, 2, 15};
    case FormatKind::kQ5_0:
      return {22, 0, 0, 16};
    case FormatKind::kQ5_1:
      return {24, 0, 2, 31};
    case FormatKind::kQ8_0:
      return {34, 0, 0, 128};
    case FormatKind::kQ2_K:
      return {84, 80, 82, 15.0 * 3.0};
    case FormatKind::kQ3_K:
      return {110, 108, 0, 32.0 * 4.0};
    case FormatKind::kQ4_K:
      return {144, 0, 2, 63.0 * 15.0};
    case FormatKind::kQ5_K:
      return {176, 0, 2, 63.0 * 31.0};
    case FormatKind::kQ6_K:
      return {210, 208, 0, 32.0 * 128.0};
    case FormatKind::kIQ4_NL:
      return {18, 0, 0, 127.0};
    case FormatKind::kIQ4_XS:
      return {136, 0, 0, 32.0 * 127.0};
    default:
      SKUA_CHECK(false && "no block format");
      return {};
  }
}

void put_float(DType type, float value, std::byte* to) {
  if (type == DType::kF32) {
    std::memcpy(to, &value, 4);
    return;
  }
  const uint16_t bits = type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(to, &bits, 2);
}

DType plain_type(FormatKind kind) {
  return kind == FormatKind::kF32 ? DType::kF32 : kind == FormatKind::kF16 ? DType::kF16 : DType::kBF16;
}

void fill_random(std::vector<std::byte>& bytes, Random& random) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);
}

void fill_blocks(HostWeight& weight, double scale, Random& random) {
  const BlockFacts facts = block_facts(weight.format.kind);
  std::vector<std::byte>& bytes = weight.planes[0];
  fill_random(bytes, random);
  SKUA_CHECK_EQ(bytes.size() % facts.bytes, size_t{0});
  for (size_t at = 0; at < bytes.size(); at += facts.bytes) {
    const double size = scale * (0.25 + 0.75 * (random.uniform() + 1) / 2);
    const bool centred = facts.offset_at != 0;
    const double d = (centred ? 2.0 : 1.0) * size / facts.max_code;
    const double signed_d = random.next() % 2 ? d : -d;
    put_float(DType::kF16, static_cast<float>(signed_d), &bytes[at + facts.scale_at]);
    if (!centred) continue;
    // Sub-scales and minima of up to six bits: half of the scale centres most sub-blocks.
    const bool k_quant = facts.bytes > 34;
    const double offset = k_quant ? signed_d * facts.max_code / 63 / 2
                                  : -signed_d * facts.max_code / 2 + 0.1 * size * random.uniform();
    put_float(DType::kF16, static_cast<float>(offset), &bytes[at + facts.offset_at]);
  }
}

void fill_affine(HostWeight& weight, double scale, Random& random) {
  fill_random(weight.planes[0], random);
  const size_t element = dtype_bytes(weight.format.scale_type);
  const double n_steps = static_cast<double>((1 << weight.format.bits) - 1);
  for (size_t at = 0; at < weight.planes[1].size(); at += element) {
    const double size = scale * (0.25 + 0.75 * (random.uniform() + 1) / 2);
    put_float(weight.format.scale_type, static_cast<float>(2 * size / n_steps), &weight.planes[1][at]);
    put_float(weight.format.scale_type, static_cast<float>(-size + 0.1 * size * random.uniform()),
              &weight.planes[2][at]);
  }
}

/// Scale bytes of MXFP4, `step` apart: the largest value (6 times the scale) is between half and twice
/// `scale`.
void fill_e8m0(std::vector<std::byte>& bytes, size_t step, double scale, Random& random) {
  const int exponent = static_cast<int>(std::lround(std::log2(scale / 6.0)));
  for (size_t at = 0; at < bytes.size(); at += step)
    bytes[at] = static_cast<std::byte>(127 + exponent - static_cast<int>(random.next() % 2));
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

EncodedMatrix HostWeight::view() const {
  EncodedMatrix matrix;
  matrix.format = format;
  matrix.rows = rows;
  matrix.cols = cols;
  for (int plane = 0; plane < 3; ++plane) {
    matrix.planes[static_cast<size_t>(plane)] = planes[plane].data();
    matrix.row_stride_bytes[static_cast<size_t>(plane)] = plane_row_bytes(format, plane, cols);
  }
  return matrix;
}

std::vector<double> HostWeight::row(int64_t index) const {
  std::vector<float> values(static_cast<size_t>(cols));
  decode_row(view(), index, 0, cols, values.data());
  return {values.begin(), values.end()};
}

HostWeight plain_weight(DType type, int64_t rows, int64_t cols, const std::vector<double>& values) {
  SKUA_CHECK_EQ(static_cast<int64_t>(values.size()), rows * cols);
  HostWeight weight{plain_format(type), rows, cols, {}};
  const size_t element = dtype_bytes(type);
  weight.planes[0].resize(values.size() * element);
  for (size_t i = 0; i < values.size(); ++i) {
    put_float(type, static_cast<float>(round_to(type, values[i])), &weight.planes[0][i * element]);
  }
  return weight;
}

HostWeight random_weight(const Format& format, int64_t rows, int64_t cols, double scale, uint64_t seed) {
  Random random(seed);
  if (format.is_plain()) {
    std::vector<double> values(static_cast<size_t>(rows * cols));
    for (double& value : values) value = scale * random.uniform();
    return plain_weight(plain_type(format.kind), rows, cols, values);
  }
  HostWeight weight{format, rows, cols, {}};
  for (int plane = 0; plane < 3; ++plane) {
    weight.planes[plane].resize(plane_row_bytes(format, plane, cols) * static_cast<size_t>(rows));
  }
  if (format.kind == FormatKind::kAffine) {
    fill_affine(weight, scale, random);
  } else if (format.kind == FormatKind::kMxfp4 || format.kind == FormatKind::kMxfp4Block) {
    const bool planes = format.kind == FormatKind::kMxfp4;
    fill_random(weight.planes[0], random);
    fill_e8m0(weight.planes[planes ? 1 : 0], planes ? 1 : 17, scale, random);
  } else {
    fill_blocks(weight, scale, random);
  }
  return weight;
}

}  // namespace skua::test
