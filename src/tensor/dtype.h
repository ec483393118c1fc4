// Element types and exact scalar conversions. Everything that rounds, rounds to nearest, ties to even.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace skua {

enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kI64,
  kI32,
  kU32,
  kI16,
  kU16,
  kI8,
  kU8,
  kBool
};

/// Bytes of one element.
size_t dtype_bytes(DType type);
/// Lower-case name as shown to users: "f32", "bf16", ...
std::string_view dtype_name(DType type);
/// Inverse of dtype_name.
std::optional<DType> dtype_from_name(std::string_view name);
inline bool is_float(DType type) { return type <= DType::kF8E4M3; }

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t f32_to_bf16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float f8e4m3_to_f32(uint8_t bits);

/// Rounds a float64 value to the nearest value of a float type (one rounding, ties to even) and returns it as
/// float64. kF64 returns the value itself.
double round_to(DType type, double value);

}  // namespace skua
