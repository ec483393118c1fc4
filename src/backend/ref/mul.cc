// Products of elements. Mul: y = a * b. ScaleBy: by a weight. PositionScale: by a factor of the position.
#include <algorithm>

#include "backend/ref/call.h"

namespace skua::ref {

void mul(const Call& call) {
  const Rows a = call.input(0);
  const Rows b = call.input(1);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, a.row(t)[i] * b.row(t)[i]);
  });
}

void scale_by(const Call& call) {
  const std::vector<double> w = call.weight_row(0, 0);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, x.row(t)[i] * w[static_cast<size_t>(i) % w.size()]);
  });
}

void position_scale(const Call& call) {
  const auto& op = call.op<PositionScale>();
  const int32_t* positions = call.ints(StepInput::kPositions);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    const auto step =
        std::min(static_cast<size_t>((int64_t{positions[t]} + op.offset) / op.stride), op.factors.size() - 1);
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, x.row(t)[i] * double{op.factors[step]});
  });
}

}  // namespace skua::ref
