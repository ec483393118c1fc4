// Rope: rotates pairs of each head by the row's angles.
#include "backend/ref/parts.h"

namespace skua::ref {

void rope(const Call& call) {
  const auto& op = call.op<Rope>();
  const Rows x = call.input(0);
  const Rows angles = call.input(1);
  const Rows y = call.output(0);
  for_each(call.pool, x.n, [&](int64_t t) {
    for (int64_t head = 0; head < op.n_heads; ++head) {
      const int64_t at = head * op.head_dim;
      rotate_head(op, angles.row(t), angles.width / 2, x.row(t) + at, y.storage, y.row(t) + at);
    }
  });
}

}  // namespace skua::ref
