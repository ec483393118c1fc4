// ActMul: y = act(gate) * up; a gate of one column serves the whole row.
#include "backend/ref/parts.h"

namespace skua::ref {

void act_mul(const Call& call) {
  const Rows gate = call.input(0);
  const Rows up = call.input(1);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) {
      y.store(t, i, activate(call.op<ActMul>().act, gate.row(t)[gate.width == 1 ? 0 : i]) * up.row(t)[i]);
    }
  });
}

}  // namespace skua::ref
