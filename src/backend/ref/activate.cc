// Activate: y = act(x). XIelu: its parameterised kin, see ir/op.h.
#include <algorithm>
#include <cmath>

#include "backend/ref/parts.h"

namespace skua::ref {

void activate(const Call& call) {
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, activate(call.op<Activate>().act, x.row(t)[i]));
  });
}

void xielu(const Call& call) {
  const auto softplus = [](double a) {
    return a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a));
  };
  const double beta = call.weight_row(2, 0)[0];
  const double eps = call.weight_row(3, 0)[0];
  const double positive = softplus(call.weight_row(0, 0)[0]);
  const double negative = beta + softplus(call.weight_row(1, 0)[0]);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) {
      const double v = x.row(t)[i];
      const double curve = v > 0 ? positive * v * v : (std::expm1(std::min(v, eps)) - v) * negative;
      y.store(t, i, curve + beta * v);
    }
  });
}

}  // namespace skua::ref
