// Slice: some columns of each row. ScaleColumns: each column by its number.
#include "backend/ref/call.h"

namespace skua::ref {

void slice(const Call& call) {
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, x.row(t)[call.op<Slice>().begin + i]);
  });
}

void scale_columns(const Call& call) {
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  const std::vector<float>& factors = call.op<ScaleColumns>().factors;
  for_each(call.pool, y.n, [&](int64_t t) {
    for (int64_t i = 0; i < y.width; ++i)
      y.store(t, i, x.row(t)[i] * double{factors[static_cast<size_t>(i)]});
  });
}

}  // namespace skua::ref
