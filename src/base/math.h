// Integer arithmetic that cannot wrap unnoticed. Sizes from files go through checked_mul and checked_add.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace skua {

constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  if (a > std::numeric_limits<uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

/// Smallest multiple of `unit` at or above `value`, or nothing when it does not fit 64 bits. unit > 0.
constexpr std::optional<uint64_t> checked_round_up(uint64_t value, uint64_t unit) {
  const auto sum = checked_add(value, unit - 1);
  if (!sum) return std::nullopt;
  return *sum / unit * unit;
}

template <typename T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

template <typename T>
constexpr T round_up(T value, T unit) {
  return ceil_div(value, unit) * unit;
}

}  // namespace skua
