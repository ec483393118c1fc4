// Random numbers as a hash of (seed, position, draw): no state, no order.
#pragma once

#include <cstdint>

namespace skua {

namespace random_detail {
/// splitmix64's finaliser, as published by S. Vigna.
inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
}  // namespace random_detail

/// Uniform number in [0, 1), a multiple of 2^-53.
inline double uniform_draw(uint64_t seed, uint64_t position, uint64_t draw) {
  using random_detail::mix;
  uint64_t z = mix(seed + 0x9E3779B97F4A7C15u);
  z = mix(z + position * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u);
  z = mix(z + draw * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du);
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

}  // namespace skua
