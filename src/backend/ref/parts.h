// Inside backend/ref: the formulas that an op shares with its fused form, so that both give the same bits.
#pragma once

#include "backend/ref/call.h"

namespace skua::ref {

/// sum_k a[k] b[k] in float64. Eight partial sums (k mod 8), added in ascending order: four to eight times
/// faster than one chain, and its error (about n/8 * 2^-53 * sum|ab|) is far below anything that is judged
/// with it.
double dot(const double* a, const double* b, int64_t n);

/// act(x), see Act. GELU: x/2 (1 + erf(x/sqrt 2)) or its tanh form (arXiv:1606.08415).
double activate(Act act, double x);

/// One row of RmsNorm; `weight` has width / n_groups values, or the row's width. The mean square is summed in
/// ascending order.
void norm_row(const RmsNorm& norm, const double* x, const std::vector<double>& weight, const Rows& y,
              int64_t row);

/// A linear's weights as decoded row by row.
struct LinearWeights {
  EncodedMatrix weight;
  std::vector<double> bias;  // empty = none

  double bias_of(int64_t n) const { return bias.empty() ? 0.0 : bias[static_cast<size_t>(n)]; }
};

/// Weights of `linear`, which start at index `next` of the call's weights; moves `next` past them.
LinearWeights take_linear(const Call& call, const Linear& linear, size_t& next);

/// y[:, n] of x for every n, each rounded to y's storage. Every weight row is decoded once.
void linear_rows(ThreadPool& pool, const Rows& x, const LinearWeights& weights, const Rows& y);

/// Rotates one head of `head_dim` values: `angles` holds `half` cosines, then `half` sines. Values are
/// rounded to `storage`.
void rotate_head(const Rope& rope, const double* angles, int64_t half, const double* x, DType storage,
                 double* y);

/// x as the cache keeps it: rounded to `storage`, a finite x never to an infinity but to the largest of its
/// sign.
double cached(DType storage, double x);

/// Where a token's rows lie in the slab, or nullptr for a token whose page is not resident.
struct CacheRow {
  double* k = nullptr;  // [n_kv_heads, k_dim]
  double* v = nullptr;  // [n_kv_heads, v_dim]
};

/// A slot's slab with one sequence's page table. Page: k [64, n_kv_heads, k_dim], then v [64, n_kv_heads,
/// v_dim].
class CacheView {
 public:
  CacheView(const Call& call, int32_t seq)
      : slab_(call.slab()),
        slot_(call.args.slot),
        max_pages_(call.args.capacity.max_pages),
        pages_(call.ints(StepInput::kPageTable) + int64_t{seq} * max_pages_) {}

  CacheRow at(int64_t position) const;

 private:
  double* slab_;
  const CacheSlot& slot_;
  int64_t max_pages_;
  const int32_t* pages_;
};

/// Cache position of batch row `token`.
int64_t cache_position(const StepSeq& seq, int64_t token);

}  // namespace skua::ref
