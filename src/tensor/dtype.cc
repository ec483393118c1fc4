// Element types: names, sizes and exact scalar conversions, by bits. Owns no formats of weights (format.cc).
#include "tensor/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace skua {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  size_t bytes;
};

constexpr DTypeRow kDTypes[] = {
    {DType::kF64, "f64", 8},   {DType::kF32, "f32", 4},       {DType::kF16, "f16", 2},
    {DType::kBF16, "bf16", 2}, {DType::kF8E4M3, "f8e4m3", 1}, {DType::kI64, "i64", 8},
    {DType::kI32, "i32", 4},   {DType::kU32, "u32", 4},       {DType::kI16, "i16", 2},
    {DType::kU16, "u16", 2},   {DType::kI8, "i8", 1},         {DType::kU8, "u8", 1},
    {DType::kBool, "bool", 1},
};

const DTypeRow& dtype_row(DType type) {
  const auto index = static_cast<size_t>(type);
  SKUA_CHECK_LT(index, std::size(kDTypes));
  return kDTypes[index];
}

/// A binary float format: `digits` significant bits, unit of the smallest subnormal 2^min_unit, largest
/// value.
struct BinaryFormat {
  int digits;
  int min_unit;
  double max;
};

/// Rounds |value| to the format's grid, ties to even; above max is left to the caller.
double round_to_grid(const BinaryFormat& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int unit = std::max(std::ilogb(value) - format.digits + 1, format.min_unit);
  // Scaling by a power of two is exact here: the quotient lies in [0, 2^digits], or underflows to a value far
  // below one half.
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

}  // namespace

size_t dtype_bytes(DType type) { return dtype_row(type).bytes; }

std::string_view dtype_name(DType type) { return dtype_row(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);  // NaN stays quiet
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const auto magnitude = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
    return std::bit_cast<float>(sign | magnitude);
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // at or above 65520: infinity
  if (magnitude <
      0x38800000u) {  // below 2^-14: a multiple of 2^-24, rounded by adding 2^-1 whose ulp is 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float f8e4m3_to_f32(uint8_t bits) {
  const uint32_t exponent = (bits >> 3) & 0xFu;
  const uint32_t mantissa = bits & 7u;
  float magnitude = 0;
  if (exponent == 15 && mantissa == 7) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  } else {
    magnitude = std::bit_cast<float>(((exponent + 120) << 23) | (mantissa << 20));
  }
  return (bits & 0x80u) ? -magnitude : magnitude;
}

double round_to(DType type, double value) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto rounded = [&](const BinaryFormat& format, double overflow) {
    const double grid = round_to_grid(format, value);
    return std::abs(grid) > format.max ? std::copysign(overflow, value) : grid;
  };
  switch (type) {
    case DType::kF64:
      return value;
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kF16:
      return rounded({11, -24, 65504.0}, inf);
    case DType::kBF16:
      return rounded({8, -133, 0x1.FEp127}, inf);
    case DType::kF8E4M3:
      return rounded({4, -9, 448.0}, std::numeric_limits<double>::quiet_NaN());
    default:
      break;
  }
  SKUA_CHECK(is_float(type));
  return value;
}

}  // namespace skua
