// RmsNorm: per slice of a row, y = x / sqrt(mean(x^2) + eps) * (w + weight_offset).
#include "backend/ref/parts.h"

namespace skua::ref {

void rms_norm(const Call& call) {
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  const auto& op = call.op<RmsNorm>();
  const auto size = static_cast<size_t>(x.width / op.n_groups);
  const std::vector<double> weight = op.weight ? call.weight_row(0, 0) : std::vector<double>(size, 1.0);
  for_each(call.pool, x.n, [&](int64_t t) { norm_row(op, x.row(t), weight, y, t); });
}

}  // namespace skua::ref
