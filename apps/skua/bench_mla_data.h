// The numbers behind skua bench mla: one layer of latent attention with random weights, a cache whose tokens
// take their rows from a table, and what comes out in float64. Rows are signed, scaled copies of a few
// latents with rotated keys of their own, so that the truth over any context is a sum over the table.
#pragma once

#include <cstdint>
#include <vector>

namespace skua {

constexpr int64_t kMlaChosen = 2048;  // rows that a sparse attention sees: DeepSeek V3.2's index_topk

/// The i-th of kMlaChosen positions spread over `context` tokens.
constexpr int64_t chosen_position(int64_t i, int64_t context) { return i * context / kMlaChosen; }

enum class MlaSeen : uint8_t { kAll, kChosen };

/// Sizes of DeepSeek-V2-Lite's attention.
struct MlaGeometry {
  int64_t n_heads = 16, rank = 512, rope = 64, nope = 128, v = 128;
  float scale() const;
};

constexpr int64_t kMlaTableRows = 4096;  // distinct cache rows
constexpr int64_t kMlaLatents = 256;     // distinct latents behind them

class MlaBenchData {
 public:
  MlaBenchData(const MlaGeometry& geometry, int64_t n_queries);

  const MlaGeometry& geometry() const { return geometry_; }

  // Row-major f32; the two up-projections hold values of bf16.
  std::vector<float> up_keys;    // [n_heads * rank, nope]
  std::vector<float> up_values;  // [n_heads * v, rank]
  std::vector<float> ckv, kpe;   // [table rows, rank], [table rows, rope]
  std::vector<float> q_nope;     // [n_queries, n_heads * nope]
  std::vector<float> q_pe;       // [n_queries, n_heads * rope]

  /// The table's keys and values of all heads, rounded from float64: [table rows, n_heads * (nope + rope)]
  /// and [table rows, n_heads * v].
  std::vector<float> table_keys() const;
  std::vector<float> table_values() const;

  /// Table row of the token at `pos` of sequence `seq`.
  static int32_t row_of(int64_t seq, int64_t pos);

  /// The result for query number `query` over the first `context` tokens of sequence `seq` (all or
  /// those chosen), [n_heads * v],
  /// and per element how far a right kernel may be: depth x u x S, where S is what the norms of query, row
  /// and weights allow (op by op as the kernels' own tests have it, with scores off by as much as they can
  /// be).
  struct Truth {
    std::vector<double> value, bound;
  };
  Truth truth(int64_t query, int64_t seq, int64_t context, MlaSeen seen = MlaSeen::kAll) const;

  int64_t n_queries() const { return n_queries_; }

 private:
  double sign_of(int64_t row) const;
  void decompress(const std::vector<float>& latents);
  void add_head(Truth& out, int64_t query, int64_t h, int64_t context,
                const std::vector<double>& mixed_latents, double total) const;

  MlaGeometry geometry_;
  int64_t n_queries_ = 0;
  double ckv_norm_ = 0, kpe_norm_ = 0;  // the largest of a row
  std::vector<double> keys_, values_;   // of the latents: [kMlaLatents, n_heads * nope], [.., n_heads * v]
};

/// The worst error over its bound; infinite if a value is not a number.
double worst_ratio(const MlaBenchData::Truth& truth, const float* got);

}  // namespace skua
