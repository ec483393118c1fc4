// Seeded random numbers and weights for tests: equal on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/format.h"

namespace skua::test {

/// splitmix64; uniform() lies in [-1, 1).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

/// A weight that owns its planes. Movable, not copied by accident: view() points into it.
struct HostWeight {
  Format format;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<std::byte> planes[3];

  EncodedMatrix view() const;
  /// Row `row` decoded.
  std::vector<double> row(int64_t row) const;
};

/// Values rounded to a plain format.
HostWeight plain_weight(DType type, int64_t rows, int64_t cols, const std::vector<double>& values);

/// Random codes of any format; decoded values lie within about [-scale, scale]. cols must fit the format's
/// block.
HostWeight random_weight(const Format& format, int64_t rows, int64_t cols, double scale, uint64_t seed);

}  // namespace skua::test
