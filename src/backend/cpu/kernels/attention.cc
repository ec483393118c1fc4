// Attention over paged keys and values. Tiles are pages (64 keys), splits are four pages; both at absolute
// positions. Within a split the running maximum (base 2) is rounded up to a whole number, so every rescale is
// a power of two; splits are closed and merged in ascending order. One query is computed in the same order
// whatever else is in the batch, so chunks, batches and threads cannot show.
#include "backend/cpu/kernels/attention_tile.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int64_t kSplitPages = 4;
constexpr float kNothing = -__builtin_inff();  // maximum over no key

/// 2^(from - to) for whole numbers from <= to; 0 when `from` is the maximum over no key.
float rescale(float from, float to) {
  if (from == to) return 1.0f;
  float lanes[16];
  store(lanes, exp2(splat(from - to)));
  return lanes[0];
}

/// The larger of two maxima; NaN wins over the old one, so that it reaches the output.
float higher(float old_max, float other) { return other <= old_max ? old_max : other; }

/// One query's state: the open split, and the splits merged so far.
struct Query {
  const float* q = nullptr;
  float* out = nullptr;
  int64_t pos = 0;
  int64_t first = 0;  // first key it may see
  float split_max = kNothing, max = kNothing;
  float sum = 0.0f;
  V16 split_sum;
  float* split_acc = nullptr;  // [v_dim]
  float* acc = nullptr;        // [v_dim]
  float* scores = nullptr;     // [kPageTokens]
};

void scale_row(float* row, int64_t n, float factor) {
  if (factor == 1.0f) return;
  for (int64_t d = 0; d < n; d += 16) {
    const int64_t count = min_of(int64_t{16}, n - d);
    store_part(row + d, load_part(row + d, count) * splat(factor), count);
  }
}

void clear_row(float* row, int64_t n) {
  for (int64_t d = 0; d < n; ++d) row[d] = 0.0f;
}

struct Kernel {
  const AttentionArgs& args;
  const int32_t* pages;  // of this sequence
  const float* slab;

  /// Scores in base 2 with keys outside [begin, end) at -inf, then weights 2^(score - maximum).
  void weigh(Query& query, int64_t begin, int64_t end) const {
    constexpr float kLog2E = 1.44269504f;
    V16 t[kPageVectors];
    V16 top = splat(kNothing);
    for (int j = 0; j < kPageVectors; ++j) {
      V16 s = load(query.scores + 16 * j) * splat(args.scale);
      if (args.softcap != 0.0f) s = splat(args.softcap) * tanh(s / splat(args.softcap));
      t[j] = select(lanes_between(begin - 16 * j, end - 16 * j), s * splat(kLog2E), splat(kNothing));
      top = max(top, t[j]);
    }
    const float tile_max = __builtin_ceilf(reduce_max(top));
    const float new_max = higher(query.split_max, tile_max);
    const float factor = rescale(query.split_max, new_max);
    query.split_max = new_max;
    query.split_sum = query.split_sum * splat(factor);
    scale_row(query.split_acc, args.slot.v_dim, factor);
    for (int j = 0; j < kPageVectors; ++j) {
      const V16 p = exp2(t[j] - splat(new_max));
      query.split_sum = query.split_sum + p;
      store(query.scores + 16 * j, p);
    }
  }

  void close_split(Query& query) const {
    if (query.split_max == kNothing) return;
    const int64_t v_dim = args.slot.v_dim;
    const float new_max = higher(query.max, query.split_max);
    const float old_factor = rescale(query.max, new_max), split_factor = rescale(query.split_max, new_max);
    query.sum = query.sum * old_factor + reduce_add(query.split_sum) * split_factor;
    for (int64_t d = 0; d < v_dim; d += 16) {
      const int64_t n = min_of(int64_t{16}, v_dim - d);
      const V16 old_part = load_part(query.acc + d, n) * splat(old_factor);
      store_part(query.acc + d, fma(load_part(query.split_acc + d, n), splat(split_factor), old_part), n);
    }
    query.max = new_max;
    query.split_max = kNothing;
    query.split_sum = zero();
    clear_row(query.split_acc, v_dim);
  }

  void finish(const Query& query) const {
    for (int64_t d = 0; d < args.slot.v_dim; d += 16) {
      const int64_t n = min_of(int64_t{16}, args.slot.v_dim - d);
      const V16 y = query.max == kNothing ? zero() : load_part(query.acc + d, n) / splat(query.sum);
      store_part(query.out + d, y, n);
    }
  }

  /// Adds one page to those queries that see some of its keys.
  void add_page(Query* queries, int n_queries, int64_t tile, int64_t kv_head) const {
    const int32_t page = pages[tile];
    if (page < 0) return;
    const float* k_page = slab + page * args.slot.page_floats() + args.slot.k_begin(kv_head);
    const float* v_page = slab + page * args.slot.page_floats() + args.slot.v_begin(kv_head);
    const float* q[kMaxQueries];
    float* scores[kMaxQueries];
    float* acc[kMaxQueries];
    int64_t begin[kMaxQueries], end[kMaxQueries];
    Query* seeing[kMaxQueries];
    int n = 0;
    for (int i = 0; i < n_queries; ++i) {
      const int64_t from = max_of(queries[i].first - tile * kPageTokens, int64_t{0});
      const int64_t to = min_of(queries[i].pos + 1 - tile * kPageTokens, int64_t{kPageTokens});
      if (from >= to) continue;
      begin[n] = from;
      end[n] = to;
      q[n] = queries[i].q;
      scores[n] = queries[i].scores;
      acc[n] = queries[i].split_acc;
      seeing[n++] = &queries[i];
    }
    if (n == 0) return;
    score_tile(q, n, k_page, args.slot.k_dim, scores);
    bool same = n == kMaxQueries && kWide;
    for (int i = 0; i < n; ++i) {
      weigh(*seeing[i], begin[i], end[i]);
      same = same && begin[i] == begin[0] && end[i] == end[0];
    }
    if (same) {
      value_registers<kMaxQueries>(scores, v_page, args.slot.v_dim, begin[0], end[0], acc);
    } else {
      for (int i = 0; i < n; ++i) {
        value_registers<1>(scores + i, v_page, args.slot.v_dim, begin[i], end[i], acc + i);
      }
    }
  }

  /// Queries of one sequence and one kv head.
  void run(Query* queries, int n_queries, int64_t kv_head) const {
    int64_t first_tile = queries[0].first / kPageTokens, last_tile = -1;
    for (int i = 0; i < n_queries; ++i) {
      queries[i].split_sum = zero();
      clear_row(queries[i].split_acc, args.slot.v_dim);
      clear_row(queries[i].acc, args.slot.v_dim);
      first_tile = min_of(first_tile, queries[i].first / kPageTokens);
      last_tile = max_of(last_tile, queries[i].pos >= 0 ? queries[i].pos / kPageTokens : int64_t{-1});
    }
    last_tile = min_of(last_tile, args.slot.max_pages - 1);
    for (int64_t tile = first_tile; tile <= last_tile; ++tile) {
      add_page(queries, n_queries, tile, kv_head);
      if ((tile + 1) % kSplitPages == 0 || tile == last_tile) {
        for (int i = 0; i < n_queries; ++i) close_split(queries[i]);
      }
    }
    for (int i = 0; i < n_queries; ++i) finish(queries[i]);
  }
};

/// The queries of heads [head, head + n_heads) (of one kv head) of tokens [begin, end).
void attend(const Call<AttentionArgs>& call, int thread, int64_t begin, int64_t end, int64_t head,
            int64_t n_heads) {
  const AttentionArgs& args = call.args;
  const auto* token_seq = reinterpret_cast<const int32_t*>(call.operands[1]);
  const auto* seqs = reinterpret_cast<const StepSeq*>(call.operands[2]);
  const auto* table = reinterpret_cast<const int32_t*>(call.operands[3]);
  const auto* slab = reinterpret_cast<const float*>(call.operands[args.slab]);
  const int64_t kv_head = head / (args.n_heads / args.slot.n_kv_heads);
  auto* workspace = reinterpret_cast<float*>(call.workspace(thread));
  Query queries[kMaxQueries];
  int n = 0;
  int32_t seq_of_queries = -1;
  const auto flush = [&] {
    if (n > 0) {
      Kernel{args, table + seq_of_queries * args.slot.max_pages, slab}.run(queries, n, kv_head);
      n = 0;
    }
  };
  for (int64_t t = begin; t < end; ++t) {
    const StepSeq& seq = seqs[token_seq[t]];
    if (n > 0 && token_seq[t] != seq_of_queries) flush();
    seq_of_queries = token_seq[t];
    int64_t pos = int64_t{seq.kv_len} - seq.q_len + (t - seq.q_begin);
    if (pos >= seq.kv_len) pos = -1;  // a padded row sees nothing
    for (int64_t h = head; h < head + n_heads; ++h) {
      float* memory = workspace + n * (2 * args.slot.v_dim + kPageTokens);
      queries[n] = Query{.q = call.input(0) + (t * args.n_heads + h) * args.slot.k_dim,
                         .out = call.output(0) + (t * args.n_heads + h) * args.slot.v_dim,
                         .pos = pos,
                         .first = args.window > 0 ? max_of(pos - args.window + 1, int64_t{0}) : 0,
                         .split_sum = zero(),
                         .split_acc = memory,
                         .acc = memory + args.slot.v_dim,
                         .scores = memory + 2 * args.slot.v_dim};
      if (++n == kMaxQueries) flush();
    }
  }
  flush();
}

}  // namespace

void attention(const KernelCall& kernel_call) {
  const Call<AttentionArgs> call(kernel_call);
  const AttentionArgs& args = call.args;
  const int64_t n_tokens = call.n_rows();
  const int64_t group = args.n_heads / args.slot.n_kv_heads;
  // Work units: a run of tokens with the heads that share a kv head, the last tokens first because they see
  // the most keys. With few tokens every head is a unit of its own, so that all threads have work.
  const bool few = n_tokens * args.slot.n_kv_heads < 4 * call.pool.n_threads();
  const int64_t unit_heads = few ? 1 : group;
  const int64_t unit_tokens = few ? 1 : max_of(int64_t{1}, 8 / group);
  const int64_t head_units = args.n_heads / unit_heads;
  const int64_t n_units = (n_tokens + unit_tokens - 1) / unit_tokens * head_units;
  call.pool.run_units(n_units, [&](int thread, int64_t unit) {
    const int64_t begin = (n_units - 1 - unit) / head_units * unit_tokens;
    attend(call, thread, begin, min_of(begin + unit_tokens, n_tokens), unit % head_units * unit_heads,
           unit_heads);
  });
}

}  // namespace skua::cpu::SKUA_ISA
