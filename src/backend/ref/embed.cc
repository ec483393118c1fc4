// Embed: out[t,:] = table[ids[t],:] * scale.
#include "backend/ref/call.h"

namespace skua::ref {

void embed(const Call& call) {
  const auto& op = call.op<Embed>();
  const int32_t* ids = call.ints(StepInput::kIds);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    SKUA_CHECK(ids[t] >= 0 && ids[t] < call.args.weights[0].rows);
    const std::vector<double> row = call.weight_row(0, ids[t]);
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, row[static_cast<size_t>(i)] * double{op.scale});
  });
}

}  // namespace skua::ref
