// IndexSelect: index scores of all earlier tokens, page by page, then the positions of the top_k largest. A
// score is one sum over heads in ascending order, whatever else is in the batch; the choice is exact: the
// top_k-th largest score is found bit by bit, equal ones go to the lower positions.
#include "backend/cpu/kernels/attention_tile.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// Larger floats have larger keys; a NaN is above or below all numbers.
uint32_t order_key(float x) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/// The key of the n-th largest of n_scores scores.
uint32_t nth_largest(const float* scores, int64_t n_scores, int64_t n) {
  uint32_t found = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const uint32_t candidate = found | (uint32_t{1} << bit);
    int64_t n_above = 0;
    for (int64_t i = 0; i < n_scores; ++i) n_above += order_key(scores[i]) >= candidate ? 1 : 0;
    if (n_above >= n) found = candidate;
  }
  return found;
}

struct Selector {
  const Call<IndexSelectArgs>& call;
  const IndexSelectArgs& args;
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* table;
  const float* slab;

  explicit Selector(const Call<IndexSelectArgs>& c)
      : call(c),
        args(c.args),
        token_seq(reinterpret_cast<const int32_t*>(c.operands[1])),
        seqs(reinterpret_cast<const StepSeq*>(c.operands[2])),
        table(reinterpret_cast<const int32_t*>(c.operands[3])),
        slab(reinterpret_cast<const float*>(c.operands[c.args.slab])) {}

  /// The heads' queries as latent rows are: the rest, then the rotated part.
  void load_queries(int64_t t, float* to) const {
    const int64_t rest = args.slot.v_dim, rotated = args.slot.k_dim;
    for (int64_t head = t * args.n_heads; head < (t + 1) * args.n_heads; ++head, to += rest + rotated) {
      __builtin_memcpy(to, call.input(0) + head * rest, static_cast<size_t>(rest) * sizeof(float));
      __builtin_memcpy(to + rest, call.input(1) + head * rotated,
                       static_cast<size_t>(rotated) * sizeof(float));
    }
  }

  /// Scores of all 64 keys of a page, those not written included.
  void score_page(int64_t t, const float* queries, const float* page, float* products, float* scores) const {
    const int64_t width = args.slot.latent_row();
    V16 sum[kPageVectors];
    for (V16& part : sum) part = zero();
    for (int64_t head = 0; head < args.n_heads; head += kMaxQueries) {
      const int n = static_cast<int>(min_of(args.n_heads - head, int64_t{kMaxQueries}));
      for (int i = 0; i < n; ++i) {
        const DotTile tile{.w = page,
                           .w_stride = width,
                           .n = kPageTokens,
                           .x = queries + (head + i) * width,
                           .x_stride = width,
                           .n_x = 1,
                           .k = width};
        row_scores(tile, products + i * kPageTokens, kPageTokens);
      }
      for (int i = 0; i < n; ++i) {
        const V16 weight = splat(call.input(2)[t * args.n_heads + head + i]);
        for (int j = 0; j < kPageVectors; ++j) {
          sum[j] = fma(weight, max(load(products + i * kPageTokens + 16 * j), zero()), sum[j]);
        }
      }
    }
    for (int j = 0; j < kPageVectors; ++j) store(scores + 16 * j, sum[j]);
  }

  void select(int thread, int64_t t) const {
    float* out = call.output(0) + t * args.top_k;
    const StepSeq& seq = seqs[token_seq[t]];
    const int64_t pos = int64_t{seq.kv_len} - seq.q_len + (t - seq.q_begin);
    const int64_t n_keys = pos < seq.kv_len ? pos + 1 : 0;  // a padded row sees nothing
    if (n_keys <= args.top_k) {
      for (int64_t i = 0; i < args.top_k; ++i) out[i] = i < n_keys ? static_cast<float>(i) : -1.0f;
      return;
    }
    auto* scores = reinterpret_cast<float*>(call.workspace(thread));
    float* queries = scores + args.score_floats();
    load_queries(t, queries);
    for (int64_t tile = 0; tile * kPageTokens < n_keys; ++tile) {
      const int32_t page = table[token_seq[t] * args.slot.max_pages + tile];
      float* to = scores + tile * kPageTokens;
      if (page < 0) {
        for (int64_t i = 0; i < kPageTokens; ++i) to[i] = -__builtin_inff();
      } else {
        score_page(t, queries, slab + page * args.slot.page_elements(), queries + args.query_floats(), to);
      }
    }
    const uint32_t bar = nth_largest(scores, n_keys, args.top_k);
    int64_t n_equal = args.top_k, n_out = 0;
    for (int64_t i = 0; i < n_keys; ++i) n_equal -= order_key(scores[i]) > bar ? 1 : 0;
    for (int64_t i = 0; i < n_keys; ++i) {
      const uint32_t key = order_key(scores[i]);
      if (key < bar || (key == bar && n_equal-- <= 0)) continue;
      out[n_out++] = static_cast<float>(i);
    }
  }
};

}  // namespace

void index_select(const KernelCall& kernel_call) {
  const Call<IndexSelectArgs> call(kernel_call);
  const Selector selector(call);
  call.pool.run_units(call.n_rows(), [&](int thread, int64_t t) { selector.select(thread, t); });
}

}  // namespace skua::cpu::SKUA_ISA
