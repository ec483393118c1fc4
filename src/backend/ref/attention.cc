// Attention: softmax over the allowed keys of a query, as stored in the cache (first_key() says which). Keys
// outside that range and pages -1 are never read, so whatever lies in unwritten cache rows cannot show. The
// softmax is the plain one: maximum, exponentials, ascending sums; a sink takes part in maximum and sum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

/// One query head over its keys; writes v_dim values.
void attend(const Call& call, const std::vector<double>& sinks, int64_t token, int64_t head) {
  const auto& op = call.op<Attention>();
  const CacheSlot& slot = call.args.slot;
  const int32_t seq = call.ints(StepInput::kTokenSeq)[token];
  const CacheView cache(call, seq);
  const int64_t kv_head = head / (op.n_heads / slot.n_kv_heads);
  const double* q = call.input(0).row(token) + head * slot.k_dim;

  const int64_t position = cache_position(call.seqs()[seq], token);
  std::vector<double> scores;
  std::vector<const double*> values;
  const double sink =
      sinks.empty() ? -std::numeric_limits<double>::infinity() : sinks[static_cast<size_t>(head)];
  double maximum = sink;
  for (int64_t key = first_key(position, op.window, op.chunk); key <= position; ++key) {
    const CacheRow row = cache.at(key);
    if (row.k == nullptr) continue;
    double score = double{op.scale} * dot(q, row.k + kv_head * slot.k_dim, slot.k_dim);
    if (op.softcap > 0.0f) score = double{op.softcap} * std::tanh(score / double{op.softcap});
    maximum = std::max(maximum, score);
    scores.push_back(score);
    values.push_back(row.v + kv_head * slot.v_dim);
  }

  std::vector<double> mixed(static_cast<size_t>(slot.v_dim), 0.0);
  double total = sinks.empty() ? 0.0 : std::exp(sink - maximum);
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
  const auto& op = call.op<Attention>();
  const std::vector<double> sinks = op.sinks ? call.weight_row(0, 0) : std::vector<double>{};
  for_each(call.pool, call.input(0).n * op.n_heads,
           [&](int64_t unit) { attend(call, sinks, unit / op.n_heads, unit % op.n_heads); });
}

}  // namespace skua::ref
