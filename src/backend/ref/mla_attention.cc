// MlaAttention: softmax over the latent rows that a query may see, as stored. All heads share the rows.
// MlaFastAttention: the same between a head's two up-projections.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

/// One head's query, and the positions it sees: all earlier ones, or the top_k `chosen`.
struct Query {
  const double* latent = nullptr;
  const double* pe = nullptr;
  double scale = 1.0;
  const double* chosen = nullptr;
  int64_t top_k = 0;
};

/// The mean of the latent rows that one query of `token` sees; zero if it sees none.
std::vector<double> mean_latent(const Call& call, int64_t token, const Query& query) {
  const int64_t rank = call.args.slot.v_dim, rope = call.args.slot.k_dim;
  const int32_t seq = call.ints(StepInput::kTokenSeq)[token];
  const CacheView cache(call, seq);

  const int64_t position = cache_position(call.seqs()[seq], token);
  std::vector<double> scores;
  std::vector<const double*> latents;
  double maximum = -std::numeric_limits<double>::infinity();
  const double* chosen = query.chosen;
  const int64_t n_seen = chosen == nullptr ? position + 1 : std::min<int64_t>(position + 1, query.top_k);
  for (int64_t i = 0; i < n_seen; ++i) {
    const int64_t key = chosen == nullptr ? i : static_cast<int64_t>(chosen[i]);
    const CacheRow row = cache.at(key);
    if (row.k == nullptr) continue;
    const double score = query.scale * (dot(query.latent, row.v, rank) + dot(query.pe, row.k, rope));
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
  for (double& value : mixed) value = scores.empty() ? 0.0 : value / total;
  return mixed;
}

/// One head of one token; writes `rank` values.
void attend(const Call& call, int64_t token, int64_t head) {
  const auto& op = call.op<MlaAttention>();
  const int64_t rank = call.args.slot.v_dim, rope = call.args.slot.k_dim;
  Query query{call.input(0).row(token) + head * rank, call.input(1).row(token) + head * rope, op.scale};
  query.top_k = op.top_k;
  if (op.top_k > 0) query.chosen = call.input(2).row(token);
  const std::vector<double> mixed = mean_latent(call, token, query);
  for (int64_t i = 0; i < rank; ++i)
    call.output(0).store(token, head * rank + i, mixed[static_cast<size_t>(i)]);
}

/// One head of all tokens, from its own query to its own values.
void attend_fast(const Call& call, int64_t head) {
  const auto& op = call.op<MlaFastAttention>();
  const int64_t rank = call.args.slot.v_dim, rope = call.args.slot.k_dim;
  const int64_t nope = call.args.weights[0].cols, v_dim = call.args.weights[1].rows / op.n_heads;
  std::vector<std::vector<double>> up_keys, up_values;
  for (int64_t r = 0; r < rank; ++r) up_keys.push_back(call.weight_row(0, head * rank + r));
  for (int64_t i = 0; i < v_dim; ++i) up_values.push_back(call.weight_row(1, head * v_dim + i));
  std::vector<double> q_latent(static_cast<size_t>(rank));
  for (int64_t token = 0; token < call.input(0).n; ++token) {
    const double* q_nope = call.input(0).row(token) + head * nope;
    for (size_t r = 0; r < q_latent.size(); ++r) q_latent[r] = dot(q_nope, up_keys[r].data(), nope);
    const Query query{q_latent.data(), call.input(1).row(token) + head * rope, op.scale};
    const std::vector<double> mixed = mean_latent(call, token, query);
    for (int64_t i = 0; i < v_dim; ++i) {
      call.output(0).store(token, head * v_dim + i,
                           dot(mixed.data(), up_values[static_cast<size_t>(i)].data(), rank));
    }
  }
}

}  // namespace

void mla_attention(const Call& call) {
  const int64_t n_heads = call.op<MlaAttention>().n_heads;
  for_each(call.pool, call.input(0).n * n_heads,
           [&](int64_t unit) { attend(call, unit / n_heads, unit % n_heads); });
}

void mla_fast_attention(const Call& call) {
  for_each(call.pool, call.op<MlaFastAttention>().n_heads, [&](int64_t head) { attend_fast(call, head); });
}

}  // namespace skua::ref
