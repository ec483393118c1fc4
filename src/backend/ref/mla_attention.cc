// MlaAttention: softmax over the latent rows that a query may see, as stored. All heads share the rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

/// One head of one token; writes `rank` values.
void attend(const Call& call, int64_t token, int64_t head) {
  const auto& op = call.op<MlaAttention>();
  const int64_t rank = call.args.slot.v_dim, rope = call.args.slot.k_dim;
  const int32_t seq = call.ints(StepInput::kTokenSeq)[token];
  const CacheView cache(call, seq);
  const double* q_latent = call.input(0).row(token) + head * rank;
  const double* q_pe = call.input(1).row(token) + head * rope;

  const int64_t position = cache_position(call.seqs()[seq], token);
  std::vector<double> scores;
  std::vector<const double*> latents;
  double maximum = -std::numeric_limits<double>::infinity();
  const double* chosen = op.top_k > 0 ? call.input(2).row(token) : nullptr;
  const int64_t n_seen = chosen == nullptr ? position + 1 : std::min<int64_t>(position + 1, op.top_k);
  for (int64_t i = 0; i < n_seen; ++i) {
    const int64_t key = chosen == nullptr ? i : static_cast<int64_t>(chosen[i]);
    const CacheRow row = cache.at(key);
    if (row.k == nullptr) continue;
    const double score = double{op.scale} * (dot(q_latent, row.v, rank) + dot(q_pe, row.k, rope));
    maximum = std::max(maximum, score);
    scores.push_back(score);
    latents.push_back(row.v);
  }

  std::vector<double> mixed(static_cast<size_t>(rank), 0.0);
  double total = 0.0;
  for (size_t key = 0; key < scores.size(); ++key) {
    const double weight = std::exp(scores[key] - maximum);
    total += weight;
    for (size_t i = 0; i < mixed.size(); ++i) mixed[i] += weight * latents[key][i];
  }
  const Rows y = call.output(0);
  for (int64_t i = 0; i < rank; ++i) {
    y.store(token, head * rank + i, scores.empty() ? 0.0 : mixed[static_cast<size_t>(i)] / total);
  }
}

}  // namespace

void mla_attention(const Call& call) {
  const int64_t n_heads = call.op<MlaAttention>().n_heads;
  for_each(call.pool, call.input(0).n * n_heads,
           [&](int64_t unit) { attend(call, unit / n_heads, unit % n_heads); });
}

}  // namespace skua::ref
