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

/// One query's view of the open split.
struct Query {
  const float* q = nullptr;
  int64_t head = 0;
  int64_t pos = 0;    // -1: sees nothing
  int64_t first = 0;  // first key it may see
  float max = kNothing;
  V16 sum;
  float* acc = nullptr;           // [v_dim]
  float* scores = nullptr;        // [kPageTokens]
  const float* chosen = nullptr;  // ascending positions, if it sees only those
};

/// Splits merged so far.
struct Merged {
  float max = kNothing;
  float sum = 0.0f;
  float* acc = nullptr;  // [v_dim]
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

/// Adds a split's result (not that of an empty one).
void merge(Merged& merged, float split_max, float split_sum, const float* split_acc, int64_t v_dim) {
  const float new_max = higher(merged.max, split_max);
  const float old_factor = rescale(merged.max, new_max), split_factor = rescale(split_max, new_max);
  merged.sum = merged.sum * old_factor + split_sum * split_factor;
  for (int64_t d = 0; d < v_dim; d += 16) {
    const int64_t n = min_of(int64_t{16}, v_dim - d);
    const V16 old_part = load_part(merged.acc + d, n) * splat(old_factor);
    store_part(merged.acc + d, fma(load_part(split_acc + d, n), splat(split_factor), old_part), n);
  }
  merged.max = new_max;
}

/// A sink joins as one more split, after all others: a score in base 2 whose value is zero.
void merge_sink(Merged& merged, float sink, int64_t v_dim) {
  constexpr float kLog2E = 1.44269504f;
  const float score = sink * kLog2E;
  const float sink_max = __builtin_ceilf(score), new_max = higher(merged.max, sink_max);
  float weight[16];
  store(weight, exp2(splat(score) - splat(new_max)));
  const float factor = rescale(merged.max, new_max);
  merged.sum = merged.sum * factor + weight[0];
  scale_row(merged.acc, v_dim, factor);
  merged.max = new_max;
}

void write_mean(const Merged& merged, int64_t v_dim, float* out) {
  for (int64_t d = 0; d < v_dim; d += 16) {
    const int64_t n = min_of(int64_t{16}, v_dim - d);
    const V16 y = merged.max == kNothing ? zero() : load_part(merged.acc + d, n) / splat(merged.sum);
    store_part(out + d, y, n);
  }
}

/// The operands of one call, and one split of one kv head.
struct Kernel {
  const Call<AttentionArgs>& call;
  const AttentionArgs& args;
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* table;
  const float* slab;

  explicit Kernel(const Call<AttentionArgs>& c)
      : call(c),
        args(c.args),
        token_seq(reinterpret_cast<const int32_t*>(c.operands[1])),
        seqs(reinterpret_cast<const StepSeq*>(c.operands[2])),
        table(reinterpret_cast<const int32_t*>(c.operands[3])),
        slab(reinterpret_cast<const float*>(c.operands[c.args.slab])) {}

  int64_t group() const { return args.n_heads / args.slot.n_kv_heads; }
  int64_t v_dim() const { return args.slot.v_dim; }
  float* out(int64_t t, int64_t head) const { return call.output(0) + (t * args.n_heads + head) * v_dim(); }

  int64_t position(int64_t t) const {
    const StepSeq& seq = seqs[token_seq[t]];
    const int64_t pos = int64_t{seq.kv_len} - seq.q_len + (t - seq.q_begin);
    return pos < seq.kv_len ? pos : -1;  // a padded row sees nothing
  }

  /// The first position that a query at `pos` sees: of its window, and of its chunk.
  int64_t first_seen(int64_t pos) const {
    int64_t first = args.window > 0 ? max_of(pos - args.window + 1, int64_t{0}) : 0;
    if (args.chunk > 0) first = max_of(pos - pos % args.chunk, first);
    return first;
  }

  /// Writes the result of one query head, all its splits merged.
  void finish(Merged& merged, int64_t head, float* to) const {
    if (args.sinks_operand >= 0) {
      const auto* sinks = reinterpret_cast<const float*>(call.operands[args.sinks_operand]);
      merge_sink(merged, sinks[head], v_dim());
    }
    write_mean(merged, v_dim(), to);
  }

  /// The two parts of one head's query side by side, as latent rows are.
  const float* latent_query(int64_t at, float* to) const {
    const int64_t rank = v_dim(), rope = args.slot.k_dim;
    __builtin_memcpy(to, call.input(0) + at * rank, static_cast<size_t>(rank) * sizeof(float));
    __builtin_memcpy(to + rank, call.input(1) + at * rope, static_cast<size_t>(rope) * sizeof(float));
    return to;
  }

  /// A query with no split open; behind its scores lies room for a latent one.
  Query query(int64_t t, int64_t head, float* acc, float* scores) const {
    const int64_t pos = position(t), at = t * args.n_heads + head;
    const bool latent = args.slot.order == PageOrder::kLatent;
    return {.q = latent ? latent_query(at, scores + kPageTokens) : call.input(0) + at * args.slot.k_dim,
            .head = head,
            .pos = pos,
            .first = first_seen(pos),
            .sum = zero(),
            .acc = acc,
            .scores = scores,
            .chosen = pos < args.top_k || args.top_k == 0 ? nullptr : call.input(2) + t * args.top_k};
  }

  /// First place in a query's list whose position is at least `key`.
  int64_t place_of(const float* chosen, int64_t key) const {
    int64_t low = 0, high = args.top_k;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (chosen[middle] < static_cast<float>(key)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  bool sees_any(const Query& query, int64_t tile) const {
    if (query.chosen == nullptr) return true;
    const int64_t place = place_of(query.chosen, tile * kPageTokens);
    return place < args.top_k && query.chosen[place] < static_cast<float>((tile + 1) * kPageTokens);
  }

  /// Scores of keys that were not chosen become -inf.
  void mask_page(const Query& query, int64_t tile) const {
    if (query.chosen == nullptr) return;
    int64_t place = place_of(query.chosen, tile * kPageTokens);
    for (int64_t i = 0; i < kPageTokens; ++i) {
      if (place < args.top_k && query.chosen[place] == static_cast<float>(tile * kPageTokens + i)) {
        ++place;
      } else {
        query.scores[i] = kNothing;
      }
    }
  }

  /// Last page that holds a key of position `pos`.
  int64_t last_page(int64_t pos) const {
    return pos < 0 ? -1 : min_of(pos / kPageTokens, args.slot.max_pages - 1);
  }

  void open_split(Query& q) const {
    q.max = kNothing;
    q.sum = zero();
    clear_row(q.acc, v_dim());
  }

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
    const float new_max = higher(query.max, tile_max);
    const float factor = rescale(query.max, new_max);
    query.max = new_max;
    query.sum = query.sum * splat(factor);
    scale_row(query.acc, v_dim(), factor);
    for (int j = 0; j < kPageVectors; ++j) {
      const V16 p = exp2(t[j] - splat(new_max));
      query.sum = query.sum + p;
      store(query.scores + 16 * j, p);
    }
  }

  /// Adds page number `tile` of a sequence to those of its queries that see some of its keys.
  void add_page(Query* queries, int n_queries, int32_t seq, int64_t tile, int64_t kv_head) const {
    const int32_t page = table[seq * args.slot.max_pages + tile];
    if (page < 0) return;
    const float* k_page = slab + page * args.slot.page_floats() + args.slot.k_begin(kv_head);
    const bool latent = args.slot.order == PageOrder::kLatent;
    const float* v_page = slab + page * args.slot.page_floats() + (latent ? 0 : args.slot.v_begin(kv_head));
    const float* q[kMaxQueries];
    float* scores[kMaxQueries];
    float* acc[kMaxQueries];
    int64_t begin[kMaxQueries], end[kMaxQueries];
    Query* seeing[kMaxQueries];
    int n = 0;
    for (int i = 0; i < n_queries; ++i) {
      const int64_t from = max_of(queries[i].first - tile * kPageTokens, int64_t{0});
      const int64_t to = min_of(queries[i].pos + 1 - tile * kPageTokens, int64_t{kPageTokens});
      if (from >= to || !sees_any(queries[i], tile)) continue;
      begin[n] = from;
      end[n] = to;
      q[n] = queries[i].q;
      scores[n] = queries[i].scores;
      acc[n] = queries[i].acc;
      seeing[n++] = &queries[i];
    }
    if (n == 0) return;
    const int64_t v_stride = latent ? args.slot.latent_row() : v_dim();
    if (!latent) {
      score_tile(q, n, k_page, args.slot.k_dim, scores);
    } else if (n == n_queries) {
      latent_score_tile(q[0], n, v_page, v_stride, scores[0], args.query_floats());
    } else {
      for (int i = 0; i < n; ++i) latent_score_tile(q[i], 1, v_page, v_stride, scores[i], 0);
    }
    bool same = true;
    for (int i = 0; i < n; ++i) {
      mask_page(*seeing[i], tile);
      weigh(*seeing[i], begin[i], end[i]);
      same = same && begin[i] == begin[0] && end[i] == end[0];
    }
    if (same) {
      value_tile(scores, n, v_page, v_dim(), v_stride, begin[0], end[0], acc);
    } else {
      for (int i = 0; i < n; ++i)
        value_tile(scores + i, 1, v_page, v_dim(), v_stride, begin[i], end[i], acc + i);
    }
  }

  /// Queries of one sequence and one kv head over all splits; their results go to `out`.
  void run(Query* queries, Merged* merged, float* const* outs, int n, int32_t seq, int64_t kv_head) const {
    int64_t first = queries[0].first / kPageTokens, last = -1;
    for (int i = 0; i < n; ++i) {
      open_split(queries[i]);
      clear_row(merged[i].acc, v_dim());
      first = min_of(first, queries[i].first / kPageTokens);
      last = max_of(last, last_page(queries[i].pos));
    }
    for (int64_t tile = first; tile <= last; ++tile) {
      add_page(queries, n, seq, tile, kv_head);
      if ((tile + 1) % kSplitPages != 0 && tile != last) continue;
      for (int i = 0; i < n; ++i) {
        if (queries[i].max == kNothing) continue;
        merge(merged[i], queries[i].max, reduce_add(queries[i].sum), queries[i].acc, v_dim());
        open_split(queries[i]);
      }
    }
    for (int i = 0; i < n; ++i) finish(merged[i], queries[i].head, outs[i]);
  }

  /// All queries of heads [head, head + n_heads) (of one kv head) of tokens [begin, end).
  void attend(int thread, int64_t begin, int64_t end, int64_t head, int64_t n_heads) const {
    auto* workspace = reinterpret_cast<float*>(call.workspace(thread));
    Query queries[kMaxQueries];
    Merged merged[kMaxQueries];
    float* outs[kMaxQueries];
    int n = 0;
    for (int64_t t = begin; t < end; ++t) {
      const int32_t seq = token_seq[t];
      for (int64_t h = head; h < head + n_heads; ++h) {
        float* memory = workspace + n * args.query_floats();
        queries[n] = query(t, h, memory, memory + 2 * v_dim());
        merged[n] = {.acc = memory + v_dim()};
        outs[n] = out(t, h);
        const bool last = t + 1 == end && h + 1 == head + n_heads;
        const bool seq_ends = h + 1 == head + n_heads && (last || token_seq[t + 1] != seq);
        if (++n == kMaxQueries || seq_ends) {
          run(queries, merged, outs, n, seq, head / group());
          n = 0;
        }
      }
    }
  }

  float* split_result(int64_t t, int64_t head, int64_t split) const {
    auto* shared = reinterpret_cast<float*>(call.operands[args.workspace]);
    return shared + ((t * args.n_heads + head) * args.n_splits + split) * split_floats(v_dim());
  }

  /// One split of one token and kv head: every head's maximum, sum and values to the shared workspace.
  void attend_split(int thread, int64_t t, int64_t kv_head, int64_t split) const {
    auto* workspace = reinterpret_cast<float*>(call.workspace(thread));
    const int64_t end = min_of((split + 1) * kSplitPages - 1, last_page(position(t)));
    for (int64_t g = 0; g < group(); g += kMaxQueries) {
      const int n = static_cast<int>(min_of(group() - g, int64_t{kMaxQueries}));
      Query queries[kMaxQueries];
      for (int i = 0; i < n; ++i) {
        float* result = split_result(t, kv_head * group() + g + i, split);
        queries[i] = query(t, kv_head * group() + g + i, result + 2, workspace + i * args.query_floats());
        open_split(queries[i]);
      }
      for (int64_t tile = max_of(split * kSplitPages, queries[0].first / kPageTokens); tile <= end; ++tile) {
        add_page(queries, n, token_seq[t], tile, kv_head);
      }
      for (int i = 0; i < n; ++i) {
        queries[i].acc[-2] = queries[i].max;
        queries[i].acc[-1] = reduce_add(queries[i].sum);
      }
    }
  }

  /// Merges the first n splits of one query.
  void merge_splits(int thread, int64_t t, int64_t head, int64_t n) const {
    Merged merged{.acc = reinterpret_cast<float*>(call.workspace(thread))};
    clear_row(merged.acc, v_dim());
    for (int64_t split = 0; split < n; ++split) {
      const float* result = split_result(t, head, split);
      if (result[0] != kNothing) merge(merged, result[0], result[1], result + 2, v_dim());
    }
    finish(merged, head, out(t, head));
  }
};

}  // namespace

void attention(const KernelCall& kernel_call) {
  const Call<AttentionArgs> call(kernel_call);
  const AttentionArgs& args = call.args;
  const Kernel kernel(call);
  const int64_t n_tokens = call.n_rows(), n_kv_heads = args.slot.n_kv_heads;
  // Few tokens: the splits of one query go to several threads and are merged in a second region.
  const bool few = n_tokens <= args.split_tokens && n_tokens * n_kv_heads < 4 * call.pool.n_threads();
  int64_t n_splits = 0;
  for (int64_t t = 0; few && t < n_tokens; ++t) {
    n_splits = max_of(n_splits, kernel.last_page(kernel.position(t)) / kSplitPages + 1);
  }
  if (n_splits > 1) {
    call.pool.run_units(n_tokens * n_kv_heads * n_splits, [&](int thread, int64_t unit) {
      const int64_t token_head = unit / n_splits;
      kernel.attend_split(thread, token_head / n_kv_heads, token_head % n_kv_heads, unit % n_splits);
    });
    call.pool.run_units(n_tokens, [&](int thread, int64_t t) {
      for (int64_t head = 0; head < args.n_heads; ++head) kernel.merge_splits(thread, t, head, n_splits);
    });
    return;
  }
  // Units: a run of tokens with the heads that share a kv head, the last tokens first because they see the
  // most keys; single heads when there are few.
  const int64_t unit_heads = few ? 1 : kernel.group();
  const int64_t unit_tokens = few ? 1 : max_of(int64_t{1}, 8 / kernel.group());
  const int64_t head_units = args.n_heads / unit_heads;
  const int64_t n_units = (n_tokens + unit_tokens - 1) / unit_tokens * head_units;
  call.pool.run_units(n_units, [&](int thread, int64_t unit) {
    const int64_t begin = (n_units - 1 - unit) / head_units * unit_tokens;
    kernel.attend(thread, begin, min_of(begin + unit_tokens, n_tokens), unit % head_units * unit_heads,
                  unit_heads);
  });
}

void mla_attention(const KernelCall& call) { attention(call); }

}  // namespace skua::cpu::SKUA_ISA
