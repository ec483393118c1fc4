// Attention over paged keys and values of kv heads. Tiles are pages (64 keys), splits are four pages; both at
// absolute positions, see attention_state.h. One query is computed in the same order whatever else is in the
// batch, so chunks, batches and threads cannot show.
#include "backend/cpu/kernels/attention_state.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// One query's view of the open split.
struct Query : OpenSplit {
  const float* q = nullptr;
  int64_t head = 0;
  int64_t pos = 0;    // -1: sees nothing
  int64_t first = 0;  // first key it may see
};

/// The operands of one call, and one split of one kv head. Element: what the cache holds.
template <typename Element>
struct Kernel {
  const Call<AttentionArgs>& call;
  const AttentionArgs& args;
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* table;
  const Element* slab;

  explicit Kernel(const Call<AttentionArgs>& c)
      : call(c),
        args(c.args),
        token_seq(reinterpret_cast<const int32_t*>(c.operands[1])),
        seqs(reinterpret_cast<const StepSeq*>(c.operands[2])),
        table(reinterpret_cast<const int32_t*>(c.operands[3])),
        slab(reinterpret_cast<const Element*>(c.operands[c.args.slab])) {}

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

  /// A query with no split open.
  Query query(int64_t t, int64_t head, float* acc, float* scores) const {
    Query out;
    out.acc = acc;
    out.scores = scores;
    out.q = call.input(0) + (t * args.n_heads + head) * args.slot.k_dim;
    out.head = head;
    out.pos = position(t);
    out.first = first_seen(out.pos);
    open_split(out, v_dim());
    return out;
  }

  /// Last page that holds a key of position `pos`.
  int64_t last_page(int64_t pos) const {
    return pos < 0 ? -1 : min_of(pos / kPageTokens, args.slot.max_pages - 1);
  }

  /// Adds page number `tile` of a sequence to those of its queries that see some of its keys.
  void add_page(Query* queries, int n_queries, int32_t seq, int64_t tile, int64_t kv_head) const {
    const int32_t page = table[seq * args.slot.max_pages + tile];
    if (page < 0) return;
    const Element* k_page = slab + page * args.slot.page_elements() + args.slot.k_begin(kv_head);
    const Element* v_page = slab + page * args.slot.page_elements() + args.slot.v_begin(kv_head);
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
      acc[n] = queries[i].acc;
      seeing[n++] = &queries[i];
    }
    if (n == 0) return;
    int64_t first = begin[0], last = end[0];
    for (int i = 1; i < n; ++i) {
      first = min_of(first, begin[i]);
      last = max_of(last, end[i]);
    }
    score_tile(q, n, k_page, args.slot.k_dim, first, last, scores);
    bool same = true;
    for (int i = 0; i < n; ++i) {
      weigh(*seeing[i], {args.scale, args.softcap}, v_dim(), begin[i], end[i]);
      same = same && begin[i] == begin[0] && end[i] == end[0];
    }
    ValueTile<Element> tile_of{
        .v = v_page, .v_dim = v_dim(), .v_stride = v_dim(), .keys = {begin[0], end[0]}};
    if (same) return value_tile(tile_of, scores, n, acc);
    for (int i = 0; i < n; ++i) {
      tile_of.keys = {begin[i], end[i]};
      value_tile(tile_of, scores + i, 1, acc + i);
    }
  }

  /// Queries of one sequence and one kv head over all splits; their results go to `out`.
  void run(Query* queries, Merged* merged, float* const* outs, int n, int32_t seq, int64_t kv_head) const {
    int64_t first = queries[0].first / kPageTokens, last = -1;
    for (int i = 0; i < n; ++i) {
      clear_row(merged[i].acc, v_dim());
      first = min_of(first, queries[i].first / kPageTokens);
      last = max_of(last, last_page(queries[i].pos));
    }
    for (int64_t tile = first; tile <= last; ++tile) {
      add_page(queries, n, seq, tile, kv_head);
      if ((tile + 1) % kSplitPages != 0 && tile != last) continue;
      for (int i = 0; i < n; ++i) close_split(queries[i], merged[i], v_dim());
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

template <typename Element>
void attend_all(const KernelCall& kernel_call) {
  const Call<AttentionArgs> call(kernel_call);
  const AttentionArgs& args = call.args;
  const Kernel<Element> kernel(call);
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

}  // namespace

void attention(const KernelCall& call) {
  const DType element = static_cast<const AttentionArgs*>(call.args)->slot.element;
  if (element == DType::kF16) return attend_all<F16>(call);
  if (element == DType::kBF16) return attend_all<BF16>(call);
  attend_all<float>(call);
}

}  // namespace skua::cpu::SKUA_ISA
