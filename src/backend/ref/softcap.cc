// Softcap: y = cap * tanh(x / cap).
#include <cmath>

#include "backend/ref/call.h"

namespace skua::ref {

void softcap(const Call& call) {
  const double cap = call.op<Softcap>().cap;
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, cap * std::tanh(x.row(t)[i] / cap));
  });
}

}  // namespace skua::ref
