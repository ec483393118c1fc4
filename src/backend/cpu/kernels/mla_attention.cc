// Absorbed latent attention over pages of latent rows. A pass walks the pages once for all heads of a token,
// or of a few tokens of one sequence; a page serves scores and values while it is near. Pages (64 rows) and
// splits (four pages) lie at absolute positions, and every head is computed in one order whatever else is in
// the batch (attention_state.h), so neither chunks nor batches nor threads can show. What was fetched is
// counted where a page is taken up.
#include "backend/cpu/kernels/attention_state.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"

namespace skua::cpu::SKUA_ISA {
namespace {

constexpr int kHeadsAtOnce = 64;  // pointers that lie on the stack

/// One token of a pass.
struct Token {
  int64_t t = 0;
  int64_t pos = 0;                // -1: sees nothing
  const float* chosen = nullptr;  // ascending positions, if it sees only those
};

/// Tokens of one sequence that walk the pages together. `rows` counts what they fetched.
struct Pass {
  Token tokens[kPassQueries];
  int n = 0;
  int32_t seq = 0;
  float* memory = nullptr;
  LatentPath* path = nullptr;
  uint64_t rows = 0;
};

/// One head of one token, in workspace: 32 floats of state, scores, query, the open split's sums, all sums.
struct Head {
  float* state;
  float* scores;
  float* q;
  float* acc;
  float* merged_acc;

  OpenSplit open() const { return {.max = state[0], .sum = load(state + 16), .acc = acc, .scores = scores}; }
  Merged merged() const { return {.max = state[1], .sum = state[2], .acc = merged_acc}; }
  void keep(const OpenSplit& split) const {
    state[0] = split.max;
    store(state + 16, split.sum);
  }
  void keep(const Merged& merged) const {
    state[1] = merged.max;
    state[2] = merged.sum;
  }
};

struct Kernel {
  const Call<MlaArgs>& call;
  const MlaArgs& args;
  const int32_t* token_seq;
  const StepSeq* seqs;
  const int32_t* table;
  const float* slab;
  const int64_t rank, rope, width;

  explicit Kernel(const Call<MlaArgs>& c)
      : call(c),
        args(c.args),
        token_seq(reinterpret_cast<const int32_t*>(c.operands[1])),
        seqs(reinterpret_cast<const StepSeq*>(c.operands[2])),
        table(reinterpret_cast<const int32_t*>(c.operands[3])),
        slab(reinterpret_cast<const float*>(c.operands[c.args.slab])),
        rank(c.args.slot.v_dim),
        rope(c.args.slot.k_dim),
        width(c.args.slot.latent_row()) {}

  float* out(int64_t t, int64_t head) const { return call.output(0) + (t * args.n_heads + head) * rank; }

  int64_t position(int64_t t) const {
    const StepSeq& seq = seqs[token_seq[t]];
    const int64_t pos = int64_t{seq.kv_len} - seq.q_len + (t - seq.q_begin);
    return pos < seq.kv_len ? pos : -1;  // a padded row sees nothing
  }

  /// Last page that holds a row at or before `pos`.
  int64_t last_page(int64_t pos) const {
    return pos < 0 ? -1 : min_of(pos / kPageTokens, args.slot.max_pages - 1);
  }

  Head head_at(const Pass& pass, int64_t token, int64_t head) const {
    float* memory = pass.memory + (token * args.n_heads + head) * args.head_floats();
    float* q = memory + 32 + kPageTokens;
    return {memory, memory + 32, q, q + width, q + width + rank};
  }

  /// Adds a token to a pass: its heads' queries lie as latent rows do, with no split open.
  void add_token(Pass& pass, int64_t t) const {
    const int64_t pos = position(t);
    const bool all = args.top_k == 0 || pos < args.top_k;
    pass.tokens[pass.n] = {t, pos, all ? nullptr : call.input(2) + t * args.top_k};
    pass.seq = token_seq[t];
    const bool decodes = seqs[pass.seq].q_len == 1;
    pass.path = !all ? &call.counters.sparse : decodes ? &call.counters.decode : &call.counters.prefill;
    for (int64_t h = 0; h < args.n_heads; ++h) {
      const Head head = head_at(pass, pass.n, h);
      const int64_t at = t * args.n_heads + h;
      __builtin_memcpy(head.q, call.input(0) + at * rank, static_cast<size_t>(rank) * sizeof(float));
      __builtin_memcpy(head.q + rank, call.input(1) + at * rope, static_cast<size_t>(rope) * sizeof(float));
      OpenSplit split{.acc = head.acc};
      open_split(split, rank);
      head.keep(split);
      clear_row(head.merged_acc, rank);
      head.keep(Merged{});
    }
    ++pass.n;
  }

  /// First place in a token's list whose position is at least `key`.
  int64_t place_of(const float* chosen, int64_t key) const {
    int64_t low = 0, high = args.top_k;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (chosen[middle] >= 0.0f && chosen[middle] < static_cast<float>(key)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// The rows of page `tile` that a token sees; `list` has room for a page.
  PageKeys keys_of(const Token& token, int64_t tile, int32_t* list) const {
    const int64_t begin = tile * kPageTokens;
    if (token.chosen == nullptr) return {0, min_of(token.pos + 1 - begin, int64_t{kPageTokens})};
    int64_t n = 0;
    for (int64_t place = place_of(token.chosen, begin); place < args.top_k && n < kPageTokens; ++place) {
      const float key = token.chosen[place] - static_cast<float>(begin);
      if (!(key >= 0.0f && key < static_cast<float>(kPageTokens))) break;
      list[n++] = static_cast<int32_t>(key);
    }
    return {0, n, list};
  }

  /// Puts scores of listed rows at their rows' places; the others were not chosen.
  static void spread(float* scores, const PageKeys& keys) {
    float compact[kPageTokens];
    __builtin_memcpy(compact, scores, sizeof(compact));
    for (int64_t i = 0; i < kPageTokens; ++i) scores[i] = kNothing;
    for (int64_t i = 0; i < keys.end; ++i) scores[keys.list[i]] = compact[i];
  }

  /// All heads of one token over rows of a page.
  void heads_over(const Pass& pass, int token, const float* page, const PageKeys& keys) const {
    const int64_t stride = args.head_floats();
    const Head first = head_at(pass, token, 0);
    const DotTile tile{.w = page,
                       .w_stride = width,
                       .n = keys.end,
                       .w_rows = keys.list,
                       .x = first.q,
                       .x_stride = stride,
                       .n_x = args.n_heads,
                       .k = width};
    row_scores(tile, first.scores, stride);
    for (int64_t h = 0; h < args.n_heads; ++h) {
      const Head head = head_at(pass, token, h);
      if (keys.list != nullptr) spread(head.scores, keys);
      OpenSplit split = head.open();
      weigh(split, {.scale = args.scale}, rank, 0, keys.list == nullptr ? keys.end : kPageTokens);
      head.keep(split);
    }
    const ValueTile<float> values{.v = page, .v_dim = rank, .v_stride = width, .keys = keys};
    for (int64_t h = 0; h < args.n_heads; h += kHeadsAtOnce) {
      const int n = static_cast<int>(min_of(args.n_heads - h, int64_t{kHeadsAtOnce}));
      const float* p[kHeadsAtOnce];
      float* acc[kHeadsAtOnce];
      for (int i = 0; i < n; ++i) {
        const Head head = head_at(pass, token, h + i);
        p[i] = head.scores;
        acc[i] = head.acc;
      }
      value_tile(values, p, n, acc);
    }
  }

  /// Takes page number `tile` up once, for every head of every token of the pass that sees some of its rows.
  void add_page(Pass& pass, int64_t tile) const {
    const int32_t page = table[pass.seq * args.slot.max_pages + tile];
    if (page < 0) return;
    int64_t n_fetched = 0;
    for (int i = 0; i < pass.n; ++i) {
      int32_t list[kPageTokens];
      const PageKeys keys = keys_of(pass.tokens[i], tile, list);
      if (keys.end <= 0) continue;
      n_fetched = max_of(n_fetched, keys.end);
      heads_over(pass, i, slab + page * args.slot.page_elements(), keys);
    }
    pass.rows += static_cast<uint64_t>(n_fetched);
  }

  void count(const Pass& pass, LatentPath& path, uint64_t n_tokens) const {
    __atomic_fetch_add(&path.tokens, n_tokens, __ATOMIC_RELAXED);
    __atomic_fetch_add(&path.rows, pass.rows, __ATOMIC_RELAXED);
    __atomic_fetch_add(&path.bytes, pass.rows * static_cast<uint64_t>(width) * sizeof(float),
                       __ATOMIC_RELAXED);
  }

  /// A whole pass: all splits in ascending order, merged as they close.
  void run(Pass& pass) const {
    if (pass.n == 0) return;
    const int64_t last = last_page(pass.tokens[pass.n - 1].pos);
    for (int64_t tile = 0; tile <= last; ++tile) {
      add_page(pass, tile);
      if ((tile + 1) % kSplitPages != 0 && tile != last) continue;
      for (int64_t i = 0; i < pass.n * args.n_heads; ++i) {
        const Head head = head_at(pass, 0, i);
        OpenSplit split = head.open();
        Merged merged = head.merged();
        close_split(split, merged, rank);
        head.keep(split);
        head.keep(merged);
      }
    }
    for (int i = 0; i < pass.n; ++i) {
      for (int64_t h = 0; h < args.n_heads; ++h)
        write_mean(head_at(pass, i, h).merged(), rank, out(pass.tokens[i].t, h));
    }
    count(pass, *pass.path, static_cast<uint64_t>(pass.n));
    pass.n = 0;
    pass.rows = 0;
  }

  /// Tokens [begin, end): a pass for each run of one sequence.
  void attend(int thread, int64_t begin, int64_t end) const {
    Pass pass{.memory = reinterpret_cast<float*>(call.workspace(thread))};
    for (int64_t t = begin; t < end; ++t) {
      if (pass.n > 0 && token_seq[t] != pass.seq) run(pass);
      add_token(pass, t);
    }
    run(pass);
  }

  float* split_result(int64_t t, int64_t head, int64_t split) const {
    auto* shared = reinterpret_cast<float*>(call.operands[args.workspace]);
    return shared + ((t * args.n_heads + head) * args.n_splits + split) * split_floats(rank);
  }

  /// One split of one token: every head's maximum, sum and values to the shared workspace.
  void attend_split(int thread, int64_t t, int64_t split) const {
    Pass pass{.memory = reinterpret_cast<float*>(call.workspace(thread))};
    add_token(pass, t);
    const int64_t end = min_of((split + 1) * kSplitPages - 1, last_page(pass.tokens[0].pos));
    for (int64_t tile = split * kSplitPages; tile <= end; ++tile) add_page(pass, tile);
    for (int64_t h = 0; h < args.n_heads; ++h) {
      const Head head = head_at(pass, 0, h);
      float* result = split_result(t, h, split);
      result[0] = head.state[0];
      result[1] = reduce_add(load(head.state + 16));
      __builtin_memcpy(result + 2, head.acc, static_cast<size_t>(rank) * sizeof(float));
    }
    const bool decodes = pass.path == &call.counters.decode;
    count(pass, decodes ? call.counters.split_decode : *pass.path, split == 0 ? 1 : 0);
  }

  /// Merges the first n splits of every head of a token.
  void merge_splits(int thread, int64_t t, int64_t n) const {
    uint64_t n_merged = 0;
    for (int64_t h = 0; h < args.n_heads; ++h) {
      Merged merged{.acc = reinterpret_cast<float*>(call.workspace(thread))};
      clear_row(merged.acc, rank);
      for (int64_t split = 0; split < n; ++split) {
        const float* result = split_result(t, h, split);
        if (result[0] == kNothing) continue;
        merge(merged, result[0], result[1], result + 2, rank);
        ++n_merged;
      }
      write_mean(merged, rank, out(t, h));
    }
    __atomic_fetch_add(&call.counters.merges, n_merged, __ATOMIC_RELAXED);
  }
};

}  // namespace

void mla_attention(const KernelCall& kernel_call) {
  const Call<MlaArgs> call(kernel_call);
  const MlaArgs& args = call.args;
  const Kernel kernel(call);
  const int64_t n_tokens = call.n_rows();
  // Few tokens: the splits of one token go to several threads and are merged in a second region.
  const bool few = n_tokens <= args.split_tokens && n_tokens < 4 * call.pool.n_threads();
  int64_t n_splits = 0;
  for (int64_t t = 0; few && t < n_tokens; ++t) {
    n_splits = max_of(n_splits, kernel.last_page(kernel.position(t)) / kSplitPages + 1);
  }
  if (n_splits > 1) {
    call.pool.run_units(n_tokens * n_splits, [&](int thread, int64_t unit) {
      kernel.attend_split(thread, unit / n_splits, unit % n_splits);
    });
    call.pool.run_units(n_tokens, [&](int thread, int64_t t) { kernel.merge_splits(thread, t, n_splits); });
    return;
  }
  // Units: runs of tokens, the last ones first because they see the most rows; single tokens when there are
  // few.
  const int64_t unit_tokens = few ? 1 : args.pass_tokens();
  const int64_t n_units = (n_tokens + unit_tokens - 1) / unit_tokens;
  call.pool.run_units(n_units, [&](int thread, int64_t unit) {
    const int64_t begin = (n_units - 1 - unit) * unit_tokens;
    kernel.attend(thread, begin, min_of(begin + unit_tokens, n_tokens));
  });
}

}  // namespace skua::cpu::SKUA_ISA
