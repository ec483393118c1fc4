// KvWrite: k and v rows of this step's tokens go to their cache positions, rounded to the slot's storage.
#include "backend/ref/parts.h"

namespace skua::ref {

void kv_write(const Call& call) {
  const Rows k = call.input(0);
  const Rows v = call.input(1);
  const int32_t* token_seq = call.ints(StepInput::kTokenSeq);
  const DType storage = call.args.slot.storage;
  for_each(call.pool, k.n, [&](int64_t t) {
    const int32_t seq = token_seq[t];
    const CacheRow row = CacheView(call, seq).at(cache_position(call.seqs()[seq], t));
    if (row.k == nullptr) return;
    for (int64_t i = 0; i < k.width; ++i) row.k[i] = cached(storage, k.row(t)[i]);
    for (int64_t i = 0; i < v.width; ++i) row.v[i] = cached(storage, v.row(t)[i]);
  });
}

}  // namespace skua::ref
