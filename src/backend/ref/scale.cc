// Scale: y = x * factor.
#include "backend/ref/call.h"

namespace skua::ref {

void scale(const Call& call) {
  const double factor = call.op<Scale>().factor;
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, x.row(t)[i] * factor);
  });
}

}  // namespace skua::ref
