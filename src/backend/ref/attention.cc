// Attention: softmax over the allowed keys of a query, as stored in the cache. The query at position p sees
// keys at (p - window, p] (window 0: all up to p). Keys outside that range and pages -1 are never read, so
// whatever lies in unwritten cache rows cannot show. The softmax is the plain one: maximum, exponentials,
// ascending sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

/// One query head over its keys; writes v_dim values.
void attend(const Call& call, int64_t token, int64_t head) {
  const auto& op = call.op<Attention>();
  const CacheSlot& slot = call.args.slot;
  const int32_t seq = call.ints(StepInput::kTokenSeq)[token];
  const CacheView cache(call, seq);
  const int64_t kv_head = head / (op.n_heads / slot.n_kv_heads);
  const double* q = call.input(0).row(token) + head * slot.k_dim;

  const int64_t position = cache_position(call.seqs()[seq], token);
  const int64_t first = op.window > 0 ? std::max<int64_t>(0, position - op.window + 1) : 0;
  std::vector<double> scores;
  std::vector<const double*> values;
  double maximum = -std::numeric_limits<double>::infinity();
  for (int64_t key = first; key <= position; ++key) {
    const CacheRow row = cache.at(key);
    if (row.k == nullptr) continue;
    double score = double{op.scale} * dot(q, row.k + kv_head * slot.k_dim, slot.k_dim);
    if (op.softcap > 0.0f) score = double{op.softcap} * std::tanh(score / double{op.softcap});
    maximum = std::max(maximum, score);
    scores.push_back(score);
    values.push_back(row.v + kv_head * slot.v_dim);
  }

  std::vector<double> mixed(static_cast<size_t>(slot.v_dim), 0.0);
  double total = 0.0;
  for (size_t key = 0; key < scores.size(); ++key) {
    const double weight = std::exp(scores[key] - maximum);
    total += weight;
    for (size_t i = 0; i < mixed.size(); ++i) mixed[i] += weight * values[key][i];
  }
  const Rows y = call.output(0);
  for (int64_t i = 0; i < slot.v_dim; ++i) {
    y.store(token, head * slot.v_dim + i, scores.empty() ? 0.0 : mixed[static_cast<size_t>(i)] / total);
  }
}

}  // namespace

void attention(const Call& call) {
  const int64_t n_heads = call.op<Attention>().n_heads;
  for_each(call.pool, call.input(0).n * n_heads,
           [&](int64_t unit) { attend(call, unit / n_heads, unit % n_heads); });
}

}  // namespace skua::ref
