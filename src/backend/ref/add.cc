// Add: y = a + b.
#include "backend/ref/call.h"

namespace skua::ref {

void add(const Call& call) {
  const Rows a = call.input(0);
  const Rows b = call.input(1);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, a.row(t)[i] + b.row(t)[i]);
  });
}

}  // namespace skua::ref
