// AddRmsNorm: sum = a + b, rounded to its edge; then RmsNorm of the rounded sum.
#include "backend/ref/parts.h"

namespace skua::ref {

void add_rms_norm(const Call& call) {
  const Rows a = call.input(0);
  const Rows b = call.input(1);
  const Rows sum = call.output(0);
  const Rows normed = call.output(1);
  const std::vector<double> weight = call.weight_row(0, 0);
  for_each(call.pool, sum.n, [&](int64_t t) {
    for (int64_t i = 0; i < sum.width; ++i) sum.store(t, i, a.row(t)[i] + b.row(t)[i]);
    norm_row(call.op<AddRmsNorm>().norm, sum.row(t), weight, normed, t);
  });
}

}  // namespace skua::ref
