// Latent attention from a head's query to its values. Sequences that bring few tokens are absorbed: packed
// together and sent through head_linear, mla_attention and head_linear. The others are decompressed split by
// split (256 rows): every head's keys and values are made once for all of the step's tokens, which then
// attend to them. A token's result depends on its own query and the rows before it alone; splits lie at
// absolute positions.
#include "backend/cpu/kernels/attention_state.h"
#include "backend/cpu/kernels/call.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/linear_part.h"

namespace skua::cpu::SKUA_ISA {
namespace {

void copy_floats(float* to, const float* from, int64_t n) {
  __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
}

struct Kernel {
  const Call<MlaFastArgs>& call;
  const MlaFastArgs& args;
  const MlaFastPlaces places;
  void* executor;
  const StepSeq* seqs;
  const int32_t* table;
  const float* slab;
  const int64_t n_heads, rank, rope, nope, v_dim, key_width, row_width;

  Kernel(const Call<MlaFastArgs>& c, void* runs)
      : call(c),
        args(c.args),
        places(c.args),
        executor(runs),
        seqs(reinterpret_cast<const StepSeq*>(c.operands[2])),
        table(reinterpret_cast<const int32_t*>(c.operands[3])),
        slab(reinterpret_cast<const float*>(c.operands[c.args.slab])),
        n_heads(c.args.absorbed.n_heads),
        rank(c.args.absorbed.slot.v_dim),
        rope(c.args.absorbed.slot.k_dim),
        nope(c.args.nope),
        v_dim(c.args.v_dim),
        key_width(c.args.key_width()),
        row_width(rank + rope) {}

  std::byte* shared(uint64_t place) const { return call.operands[args.workspace] + place; }
  float* floats(uint64_t place) const { return reinterpret_cast<float*>(shared(place)); }
  bool decompressed(const StepSeq& seq) const { return seq.q_len >= args.min_tokens; }

  // ---- absorbed ----

  /// Packs the tokens of all other sequences; returns how many there are.
  int32_t pack_tokens() const {
    auto* token_seq = reinterpret_cast<int32_t*>(shared(places.token_seq));
    auto* packed = reinterpret_cast<StepSeq*>(shared(places.seqs));
    int32_t n = 0;
    for (int32_t s = 0; s < call.header().n_seqs; ++s) {
      packed[s] = {n, 0, seqs[s].kv_len, 0};
      if (decompressed(seqs[s])) continue;
      packed[s].q_len = seqs[s].q_len;
      for (int32_t i = 0; i < seqs[s].q_len; ++i, ++n) {
        const int64_t t = seqs[s].q_begin + i;
        token_seq[n] = s;
        copy_floats(floats(places.q_nope) + n * n_heads * nope, call.input(0) + t * n_heads * nope,
                    n_heads * nope);
        copy_floats(floats(places.q_pe) + n * n_heads * rope, call.input(1) + t * n_heads * rope,
                    n_heads * rope);
      }
    }
    StepHeader header = call.header();
    header.n_tokens = n;
    __builtin_memcpy(shared(places.header), &header, sizeof(header));
    return n;
  }

  void absorb() const {
    if (pack_tokens() == 0) return;
    std::byte* header = shared(places.header);
    std::byte* parts = shared(places.parts);
    std::byte* const keys[] = {header, shared(places.q_nope), call.operands[args.weight],
                               shared(places.q_latent), parts};
    head_linear({.args = &args.up_keys, .operands = keys, .executor = executor});
    std::byte* const attend[] = {header,
                                 shared(places.token_seq),
                                 shared(places.seqs),
                                 call.operands[3],
                                 shared(places.q_latent),
                                 shared(places.q_pe),
                                 shared(places.mixed),
                                 call.operands[args.slab],
                                 parts};
    mla_attention({.args = &args.absorbed, .operands = attend, .executor = executor});
    std::byte* const values[] = {header, shared(places.mixed), call.operands[args.weight + 1],
                                 shared(places.values), parts};
    head_linear({.args = &args.up_values, .operands = values, .executor = executor});
    const auto* packed = reinterpret_cast<const StepSeq*>(shared(places.seqs));
    for (int32_t s = 0; s < call.header().n_seqs; ++s) {
      const int64_t n = packed[s].q_len * n_heads * v_dim;
      copy_floats(call.output(0) + seqs[s].q_begin * n_heads * v_dim,
                  floats(places.values) + packed[s].q_begin * n_heads * v_dim, n);
    }
  }

  // ---- decompressed ----

  float* split_keys(int64_t head, int64_t key) const {
    return floats(places.split_keys) + (head * args.split_keys() + key) * key_width;
  }
  float* split_values(int64_t head, int64_t key) const {
    return floats(places.split_values) + (head * args.split_keys() + key) * v_dim;
  }

  /// The rows of page `tile` of a sequence; nullptr if it is not resident.
  const float* page_rows(int64_t s, int64_t tile) const {
    const int32_t page = table[s * args.absorbed.slot.max_pages + tile];
    return page < 0 ? nullptr : slab + page * args.absorbed.slot.page_elements();
  }

  /// Keys and values of one head for the n rows of a page, which are those from `first` of the split.
  void decompress(int thread, int64_t head, const float* rows, int64_t first, int64_t n) const {
    auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
    const float* ckv[kPageTokens];
    float* keys[kPageTokens];
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = split_keys(head, first + i);
      clear_row(keys[i], nope);
      copy_floats(keys[i] + nope, rows + i * row_width + rank, rope);
    }
    const PartView up_keys(args.up_keys.part, weights(0)), up_values(args.up_values.part, weights(1));
    for (int64_t r = 0; r < rank; r += kFastTileRows) {
      const DotTile w =
          up_keys.load_rows(head * rank + r, min_of(kFastTileRows, rank - r), kPageTokens, scratch);
      for (int64_t i = 0; i < n; ++i) ckv[i] = rows + i * row_width + r;
      value_tile({.v = w.w, .v_dim = nope, .v_stride = w.w_stride, .keys = {0, w.n}}, ckv,
                 static_cast<int>(n), keys);
    }
    for (int64_t d = 0; d < v_dim; d += kFastTileRows) {
      DotTile w =
          up_values.load_rows(head * v_dim + d, min_of(kFastTileRows, v_dim - d), kPageTokens, scratch);
      w.x = rows;
      w.x_stride = row_width;
      w.n_x = n;
      dot_tile(w, split_values(head, first) + d, v_dim);
    }
  }

  /// Operands such that a part's weight_operand (2) names weight `index`.
  std::byte* const* weights(int index) const { return call.operands + args.weight + index - 2; }

  Merged state_of(int64_t t, int64_t head) const {
    float* at = floats(places.states) + (t * n_heads + head) * split_floats(v_dim);
    return {.max = at[0], .sum = at[1], .acc = at + 2};
  }
  static void keep(const Merged& merged) {
    merged.acc[-2] = merged.max;
    merged.acc[-1] = merged.sum;
  }

  /// Up to kFastQueries queries of one head against the open split's keys.
  struct Block {
    OpenSplit split[kFastQueries];
    int64_t pos[kFastQueries];
    float* q = nullptr;  // of the first; the others query_floats() apart
    float* scores = nullptr;
    int n = 0;
  };

  Block load_block(int thread, int64_t head, int64_t t, int64_t pos, int64_t n) const {
    auto* memory = reinterpret_cast<float*>(call.workspace(thread)) + args.tile_floats();
    Block block{.q = memory + kPageTokens, .scores = memory, .n = static_cast<int>(n)};
    for (int64_t i = 0; i < n; ++i, memory += args.query_floats()) {
      float* q = memory + kPageTokens;
      copy_floats(q, call.input(0) + ((t + i) * n_heads + head) * nope, nope);
      copy_floats(q + nope, call.input(1) + ((t + i) * n_heads + head) * rope, rope);
      block.split[i].acc = q + key_width;
      block.split[i].scores = memory;
      open_split(block.split[i], v_dim);
      block.pos[i] = pos + i;
    }
    return block;
  }

  /// Adds the page whose rows are those from `first` of the split and from `begin` of the sequence.
  void add_page(Block& block, int64_t head, int64_t first, int64_t begin) const {
    int from = 0;
    while (from < block.n && block.pos[from] < begin) ++from;
    if (from == block.n) return;
    const int64_t stride = args.query_floats();
    const int64_t most = min_of(block.pos[block.n - 1] + 1 - begin, int64_t{kPageTokens});
    const DotTile tile{.w = split_keys(head, first),
                       .w_stride = key_width,
                       .n = most,
                       .x = block.q + from * stride,
                       .x_stride = stride,
                       .n_x = block.n - from,
                       .k = key_width};
    short_row_scores(tile, block.scores + from * stride, stride);
    const float* p[kFastQueries];
    float* acc[kFastQueries];
    int64_t end[kFastQueries];
    for (int i = from; i < block.n; ++i) {
      end[i] = min_of(block.pos[i] + 1 - begin, int64_t{kPageTokens});
      weigh(block.split[i], {.scale = args.absorbed.scale}, v_dim, 0, end[i]);
      p[i] = block.split[i].scores;
      acc[i] = block.split[i].acc;
    }
    for (int i = from; i < block.n;) {  // runs of queries that see the same keys
      int next = i + 1;
      while (next < block.n && end[next] == end[i]) ++next;
      const ValueTile<float> values{
          .v = split_values(head, first), .v_dim = v_dim, .v_stride = v_dim, .keys = {0, end[i]}};
      value_tile(values, p + i, next - i, acc + i);
      i = next;
    }
  }

  /// One head of tokens [t, t + n), the first at position `pos`, over one split; its merge, and the result
  /// after the last.
  void attend(int thread, int64_t s, int64_t split, int64_t head, int64_t t, int64_t pos, int64_t n) const {
    const int64_t split_begin = split * args.split_keys();
    if (pos + n - 1 < split_begin) return;
    Block block = load_block(thread, head, t, pos, n);
    for (int64_t p = 0; p < kSplitPages; ++p) {
      const int64_t tile = split * kSplitPages + p;
      if (tile * kPageTokens > pos + n - 1) break;
      if (page_rows(s, tile) != nullptr) add_page(block, head, p * kPageTokens, tile * kPageTokens);
    }
    for (int i = 0; i < block.n; ++i) {
      Merged merged = state_of(t + i, head);
      if (split == 0) {
        merged = {.acc = merged.acc};
        clear_row(merged.acc, v_dim);
      }
      close_split(block.split[i], merged, v_dim);
      keep(merged);
      if (block.pos[i] >= split_begin && block.pos[i] < split_begin + args.split_keys())
        write_mean(merged, v_dim, call.output(0) + ((t + i) * n_heads + head) * v_dim);
    }
  }

  void run_decompressed(int64_t s) const {
    const StepSeq& seq = seqs[s];
    const int64_t n_blocks = (seq.q_len + kFastQueries - 1) / kFastQueries;
    uint64_t n_rows = 0;
    for (int64_t split = 0; split * args.split_keys() < seq.kv_len; ++split) {
      const int64_t first_tile = split * kSplitPages;
      const auto rows_in = [&](int64_t tile) {
        return page_rows(s, tile) == nullptr ? 0
                                             : min_of(seq.kv_len - tile * kPageTokens, int64_t{kPageTokens});
      };
      const int64_t n_tiles = min_of((seq.kv_len - 1) / kPageTokens + 1 - first_tile, kSplitPages);
      for (int64_t i = 0; i < n_tiles; ++i) n_rows += static_cast<uint64_t>(rows_in(first_tile + i));
      call.pool.run_units(n_tiles * n_heads, [&](int thread, int64_t unit) {
        const int64_t tile = first_tile + unit / n_heads, n = rows_in(tile);
        if (n > 0) decompress(thread, unit % n_heads, page_rows(s, tile), unit / n_heads * kPageTokens, n);
      });
      call.pool.run_units(n_blocks * n_heads, [&](int thread, int64_t unit) {
        const int64_t i = (n_blocks - 1 - unit / n_heads) * kFastQueries;
        attend(thread, s, split, unit % n_heads, seq.q_begin + i, int64_t{seq.kv_len} - seq.q_len + i,
               min_of(kFastQueries, seq.q_len - i));
      });
    }
    LatentPath& path = call.counters.fast_prefill;
    path.tokens += static_cast<uint64_t>(seq.q_len);
    path.rows += n_rows;
    path.bytes += n_rows * static_cast<uint64_t>(row_width) * sizeof(float);
  }
};

}  // namespace

void mla_fast_attention(const KernelCall& kernel_call) {
  const Call<MlaFastArgs> call(kernel_call);
  const Kernel kernel(call, kernel_call.executor);
  kernel.absorb();
  for (int64_t s = 0; s < call.header().n_seqs; ++s) {
    if (kernel.decompressed(kernel.seqs[s])) kernel.run_decompressed(s);
  }
}

}  // namespace skua::cpu::SKUA_ISA
