// Embed: out[t,:] = table[index[t] + index_offset,:] * scale.
#include "backend/ref/call.h"

namespace skua::ref {

void embed(const Call& call) {
  const auto& op = call.op<Embed>();
  const int32_t* ids =
      call.ints(op.index == EmbedIndex::kPositions ? StepInput::kPositions : StepInput::kIds);
  const Rows y = call.output(0);
  for_each(call.pool, y.n, [&](int64_t t) {
    int64_t index = int64_t{ids[t]} + op.index_offset;
    if (op.index == EmbedIndex::kIdsOrZero && index >= call.args.weights[0].rows) index = 0;
    SKUA_CHECK(index >= 0 && index < call.args.weights[0].rows);
    const std::vector<double> row = call.weight_row(0, index);
    for (int64_t i = 0; i < y.width; ++i) y.store(t, i, row[static_cast<size_t>(i)] * double{op.scale});
  });
}

}  // namespace skua::ref
