// GatherRows: y[r,:] = x[rows[r],:].
#include "backend/ref/call.h"

namespace skua::ref {

void gather_rows(const Call& call) {
  const int32_t* rows = call.ints(StepInput::kRows);
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t r) {
    SKUA_CHECK(rows[r] >= 0 && rows[r] < x.n);
    for (int64_t i = 0; i < y.width; ++i) y.store(r, i, x.row(rows[r])[i]);
  });
}

}  // namespace skua::ref
