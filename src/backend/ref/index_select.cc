// IndexSelect: which earlier tokens a sparse attention looks at, by a plain sort of their scores.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

double score(const Call& call, int64_t token, const CacheRow& key) {
  const int64_t rest = call.args.slot.v_dim, rotated = call.args.slot.k_dim;
  double sum = 0;
  for (int64_t head = 0; head < call.op<IndexSelect>().n_heads; ++head) {
    const double product = dot(call.input(0).row(token) + head * rest, key.v, rest) +
                           dot(call.input(1).row(token) + head * rotated, key.k, rotated);
    sum += call.input(2).row(token)[head] * std::max(product, 0.0);
  }
  return sum;
}

void select(const Call& call, int64_t token) {
  const int64_t top_k = call.op<IndexSelect>().top_k;
  const int32_t seq = call.ints(StepInput::kTokenSeq)[token];
  const int64_t n_keys = cache_position(call.seqs()[seq], token) + 1;
  std::vector<int64_t> order(static_cast<size_t>(n_keys));
  std::iota(order.begin(), order.end(), 0);
  if (n_keys > top_k) {
    const CacheView cache(call, seq);
    std::vector<double> scores;
    for (int64_t key = 0; key < n_keys; ++key) {
      const CacheRow row = cache.at(key);
      scores.push_back(row.k == nullptr ? -INFINITY : score(call, token, row));
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    order.resize(static_cast<size_t>(top_k));
    std::sort(order.begin(), order.end());
  }
  const Rows y = call.output(0);
  for (int64_t i = 0; i < top_k; ++i) {
    const bool any = i < static_cast<int64_t>(order.size());
    y.store(token, i, any ? static_cast<double>(order[static_cast<size_t>(i)]) : -1.0);
  }
}

}  // namespace

void index_select(const Call& call) {
  for_each(call.pool, call.input(0).n, [&](int64_t token) { select(call, token); });
}

}  // namespace skua::ref
