// LayerNorm: per slice of a row, y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b.
#include <cmath>

#include "backend/ref/call.h"

namespace skua::ref {

void layer_norm(const Call& call) {
  const auto& op = call.op<LayerNorm>();
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  const int64_t size = x.width / op.n_groups;
  const std::vector<double> weight = op.weight ? call.weight_row(0, 0) : std::vector<double>{1.0};
  const std::vector<double> bias = op.bias ? call.weight_row(op.weight ? 1 : 0, 0) : std::vector<double>{0.0};
  const auto at = [](const std::vector<double>& values, int64_t i) {
    return values[static_cast<size_t>(i) % values.size()];
  };
  for_each(call.pool, x.n, [&](int64_t t) {
    for (int64_t begin = 0; begin < x.width; begin += size) {
      const double* slice = x.row(t) + begin;
      double sum = 0.0, square_sum = 0.0;
      for (int64_t i = 0; i < size; ++i) sum += slice[i];
      const double mean = sum / static_cast<double>(size);
      for (int64_t i = 0; i < size; ++i) square_sum += (slice[i] - mean) * (slice[i] - mean);
      const double root = std::sqrt(square_sum / static_cast<double>(size) + double{op.eps});
      for (int64_t i = 0; i < size; ++i) {
        y.store(t, begin + i, (slice[i] - mean) / root * at(weight, begin + i) + at(bias, begin + i));
      }
    }
  });
}

}  // namespace skua::ref
