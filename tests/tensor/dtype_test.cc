#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace skua {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Value of an IEEE-like code by arithmetic alone (no bit tricks): sign, exponent field, fraction field.
double model_value(uint32_t code, int exponent_bits, int fraction_bits) {
  const int exponent = static_cast<int>(code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(code & ((1u << fraction_bits) - 1)) / std::exp2(fraction_bits);
  const double sign = (code >> (exponent_bits + fraction_bits)) & 1 ? -1.0 : 1.0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 0) return sign * fraction * std::exp2(1 - bias);
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * kInf : std::nan("");
  return sign * (1 + fraction) * std::exp2(exponent - bias);
}

void expect_same(double actual, double expected, uint32_t code) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << std::hex << code;
  } else {
    EXPECT_EQ(actual, expected) << std::hex << code;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << std::hex << code;
  }
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(type)), type);
    EXPECT_GE(dtype_bytes(type), 1u);
  }
  EXPECT_FALSE(dtype_from_name("f13").has_value());
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2u);
  EXPECT_EQ(dtype_bytes(DType::kI64), 8u);
}

TEST(DType, EverySixteenBitCodeHasItsValueAndRoundTrips) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<uint16_t>(code);
    expect_same(f16_to_f32(bits), model_value(code, 5, 10), code);
    expect_same(bf16_to_f32(bits), model_value(code, 8, 7), code);
    if (!std::isnan(f16_to_f32(bits))) {
      ASSERT_EQ(f32_to_f16(f16_to_f32(bits)), bits);
    } else {
      ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(bits)))));
    }
    if (!std::isnan(bf16_to_f32(bits))) {
      ASSERT_EQ(f32_to_bf16(bf16_to_f32(bits)), bits);
    } else {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(bf16_to_f32(bits)))));
    }
  }
}

TEST(DType, EveryFp8CodeHasItsValue) {
  for (uint32_t code = 0; code < 256; ++code) {
    // e4m3 has no infinities: exponent 15 goes on to 448, and only fraction 7 is NaN.
    double expected = (code & 0x78) == 0x78 ? ((code & 0x80) ? -1 : 1) * 256.0 * (1 + (code & 7) / 8.0)
                                            : model_value(code, 4, 3);
    if ((code & 0x7F) == 0x7F) expected = std::nan("");
    expect_same(f8e4m3_to_f32(static_cast<uint8_t>(code)), expected, code);
  }
}

/// All finite values of a type, ascending, with the parity of their code.
std::map<double, bool> finite_values(DType type) {
  std::map<double, bool> even;
  for (uint32_t code = 0; code < (type == DType::kF8E4M3 ? 256u : 65536u); ++code) {
    double value = 0;
    if (type == DType::kF16) value = f16_to_f32(static_cast<uint16_t>(code));
    if (type == DType::kBF16) value = bf16_to_f32(static_cast<uint16_t>(code));
    if (type == DType::kF8E4M3) value = f8e4m3_to_f32(static_cast<uint8_t>(code));
    if (std::isfinite(value)) even.emplace(value, code % 2 == 0);
  }
  return even;
}

TEST(DType, RoundToTakesTheNearestAndBreaksTiesToEven) {
  for (const DType type : {DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    const auto values = finite_values(type);
    for (auto low = values.begin(), high = std::next(low); high != values.end(); ++low, ++high) {
      const double middle =
          low->first + (high->first - low->first) / 2;  // exact: two digits more than the type
      const double even = low->second ? low->first : high->first;
      ASSERT_EQ(round_to(type, middle), even) << dtype_name(type) << " " << middle;
      ASSERT_EQ(round_to(type, std::nextafter(middle, kInf)), high->first)
          << dtype_name(type) << " " << middle;
      ASSERT_EQ(round_to(type, std::nextafter(middle, -kInf)), low->first)
          << dtype_name(type) << " " << middle;
      ASSERT_EQ(round_to(type, low->first), low->first);
    }
  }
}

TEST(DType, RoundToAtTheEndsOfTheRange) {
  EXPECT_EQ(round_to(DType::kF16, 65519.999), 65504.0);
  EXPECT_EQ(round_to(DType::kF16, 65520.0), kInf);
  EXPECT_EQ(round_to(DType::kF16, -65520.0), -kInf);
  EXPECT_EQ(round_to(DType::kF16, 1e-300), 0.0);
  EXPECT_TRUE(std::signbit(round_to(DType::kF16, -1e-300)));
  EXPECT_EQ(round_to(DType::kBF16, 0x1.FEFFFFp127), 0x1.FEp127);
  EXPECT_EQ(round_to(DType::kBF16, 0x1.FFp127), kInf);
  EXPECT_EQ(round_to(DType::kBF16, 0x1p-134), 0.0);
  EXPECT_EQ(round_to(DType::kBF16, 0x1.8p-134), 0x1p-133);
  EXPECT_EQ(round_to(DType::kF8E4M3, 464.0), 448.0);  // the tie goes to the even code, 448
  EXPECT_TRUE(std::isnan(round_to(DType::kF8E4M3, 464.1)));
  EXPECT_EQ(round_to(DType::kF32, 1 + 0x1p-24), 1.0);
  EXPECT_EQ(round_to(DType::kF32, 1 + 0x1.8p-24), 1 + 0x1p-23);
  EXPECT_EQ(round_to(DType::kF64, 0.1), 0.1);
  for (const DType type : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    EXPECT_TRUE(std::isnan(round_to(type, std::nan(""))));
    EXPECT_EQ(round_to(type, -kInf), -kInf);
    EXPECT_EQ(round_to(type, 0.0), 0.0);
    EXPECT_TRUE(std::signbit(round_to(type, -0.0)));
  }
  // One rounding, not two: by way of f32 this would become the tie 1 + 2^-8 and then 1.
  EXPECT_EQ(round_to(DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
}

TEST(DType, FloatConversionsAgreeWithRoundTo) {
  uint32_t bits = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bf16_to_f32(f32_to_bf16(value)), static_cast<float>(round_to(DType::kBF16, value))) << value;
    ASSERT_EQ(f16_to_f32(f32_to_f16(value)), static_cast<float>(round_to(DType::kF16, value))) << value;
  }
  // The f16 range is a small part of f32: walk it densely, ties included.
  for (uint32_t at = 0x33000000u; at < 0x47900000u; at += 0x1000u / 2) {
    for (const uint32_t step : {0u, 1u, 0x7FFu}) {
      const auto value = std::bit_cast<float>(at + step);
      ASSERT_EQ(f16_to_f32(f32_to_f16(-value)), static_cast<float>(round_to(DType::kF16, -value))) << value;
    }
  }
}

}  // namespace
}  // namespace skua
