// RopeKvWrite: Rope on k, rounded to key_storage, then KvWrite of the rotated k and of v.
#include "backend/ref/parts.h"

namespace skua::ref {

void rope_kv_write(const Call& call) {
  const auto& op = call.op<RopeKvWrite>();
  const Rows k = call.input(0);
  const Rows angles = call.input(1);
  const Rows v = call.input(2);
  const int32_t* token_seq = call.ints(StepInput::kTokenSeq);
  const DType storage = call.args.slot.storage;
  for_each(call.pool, k.n, [&](int64_t t) {
    const int32_t seq = token_seq[t];
    const CacheRow row = CacheView(call, seq).at(cache_position(call.seqs()[seq], t));
    if (row.k == nullptr) return;
    for (int64_t head = 0; head < op.rope.n_heads; ++head) {
      const int64_t at = head * op.rope.head_dim;
      rotate_head(op.rope, angles.row(t), angles.width / 2, k.row(t) + at, call.args.inner_storage,
                  row.k + at);
    }
    for (int64_t i = 0; i < k.width; ++i) row.k[i] = cached(storage, row.k[i]);
    for (int64_t i = 0; i < v.width; ++i) row.v[i] = cached(storage, v.row(t)[i]);
  });
}

}  // namespace skua::ref
