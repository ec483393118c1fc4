// Arguments of this backend's kernels: made once by choose(), read by every instruction set's kernels.
// `*_operand` are places in KernelCall::operands; -1 = absent.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/panels.h"

namespace skua::cpu {

struct OpArgs : KernelArgs {
  Lead lead = Lead::kTokens;  // whether the header's n_tokens or n_rows counts the rows
  int input = -1;             // first input value
  int weight = -1;            // first weight
  int output = -1;            // first output value
  int slab = -1;
  int workspace = -1;
  uint64_t shared_bytes = 0;  // workspace that all threads share, before theirs
  uint64_t thread_bytes = 0;  // workspace of one thread
};

/// How pack() laid a weight out: as stored, or in panels (panels.h).
enum class WeightOrder : uint8_t { kRows, kPanels };

struct EmbedArgs : OpArgs {
  PackedWeight::Layout table;
  WeightOrder order = WeightOrder::kRows;
  PanelFormat panel;
  float scale = 1.0f;
  int64_t index_offset = 0;
  int64_t n_rows = 0;  // ids past it use row 0
};

/// rms_norm, add_rms_norm, layer_norm. A weight or bias covers a group or the whole row.
struct NormArgs : OpArgs {
  int64_t width = 0;
  int64_t group_width = 0;
  float eps = 0.0f;
  float weight_offset = 0.0f;
  int bias = -1;  // layer_norm: operand of the bias; `weight` is -1 if there is none
  int64_t weight_width = 0;
  int64_t bias_width = 0;
};

struct LinearPart {
  PackedWeight::Layout weight;
  WeightOrder order = WeightOrder::kRows;
  PanelFormat panel;  // of weights in panels
  int weight_operand = -1;
  int bias_operand = -1;
  int output_operand = -1;  // unused by gated_linear
};

/// linear, multi_linear; gated_linear has two parts, gate and up, of equal size.
struct LinearArgs : OpArgs {
  int64_t k = 0;
  std::vector<LinearPart> parts;
  Act act = Act::kSilu;  // gated_linear
};

constexpr int64_t kLinearTileRows = 32;  // weight rows decoded at a time when there are many activation rows
constexpr int64_t kGatedTileRows = 16;   // of gate and of up each
static_assert(2 * kGatedTileRows <= kLinearTileRows);

/// Floats between decoded rows in a linear's workspace: whole vectors, and no power of two (cache ways).
constexpr int64_t scratch_stride(int64_t k) { return (k + 15) / 16 * 16 + 16; }

/// Bytes of a thread's decoded rows.
constexpr uint64_t scratch_bytes(int64_t k) {
  return static_cast<uint64_t>(kLinearTileRows * scratch_stride(k)) * sizeof(float);
}

struct RopeAnglesArgs : OpArgs {
  std::vector<double> inv_freq;
  double attention_factor = 1.0;
};

struct RopeArgs : OpArgs {
  int64_t n_heads = 0;
  int64_t head_dim = 0;
  int64_t n_pairs = 0;
  RopeStyle style = RopeStyle::kHalf;
};

enum class PageOrder : uint8_t {
  kHeads,   // k of every kv head as [k_dim][kPageTokens], then v of every kv head as [kPageTokens][v_dim]
  kLatent,  // one row per token: v (the latent), then k (the rotated key); read once for scores and values
};

struct SlotShape {
  PageOrder order = PageOrder::kHeads;
  DType element = DType::kF32;  // or, of kHeads, kF16 or kBF16
  int64_t n_kv_heads = 0;
  int64_t k_dim = 0;
  int64_t v_dim = 0;
  int64_t max_pages = 0;

  int64_t page_elements() const { return n_kv_heads * (k_dim + v_dim) * kPageTokens; }
  int64_t latent_row() const { return v_dim + k_dim; }
  int64_t k_begin(int64_t head) const { return head * k_dim * kPageTokens; }
  int64_t v_begin(int64_t head) const { return (n_kv_heads * k_dim + head * v_dim) * kPageTokens; }
};

/// kv_write, and rope_kv_write, whose inputs are k, angles, v.
struct KvWriteArgs : OpArgs {
  SlotShape slot;
  RopeArgs rope;
};

constexpr int64_t kAttentionQueries = 4;  // queries that share one pass over the keys
constexpr int64_t kSplitPages = 4;        // pages of a split

/// Floats of one split's result: maximum, sum, values.
constexpr int64_t split_floats(int64_t v_dim) { return (v_dim + 2 + 15) / 16 * 16; }

struct AttentionArgs : OpArgs {
  SlotShape slot;
  int64_t n_heads = 0;
  int64_t window = 0;
  int64_t chunk = 0;
  float scale = 1.0f;
  float softcap = 0.0f;
  int sinks_operand = -1;
  int64_t split_tokens = 0;  // tokens whose splits' results fit the shared workspace
  int64_t n_splits = 0;      // of a sequence, at most

  /// Workspace of one query: the open split's sums, all sums, scores.
  int64_t query_floats() const { return 2 * slot.v_dim + kPageTokens; }
};

constexpr int64_t kPassQueries = 32;  // heads x tokens that share one pass over latent rows, about

struct MlaArgs : OpArgs {
  SlotShape slot;
  int64_t n_heads = 0;
  float scale = 1.0f;
  int64_t split_tokens = 0;  // tokens whose splits' results fit the shared workspace; 0 = never split
  int64_t n_splits = 0;      // of a sequence, at most
  int64_t top_k = 0;         // of chosen positions, the third input; 0 = every earlier token

  /// Workspace of one head of one token: 32 floats of state, scores, its query, the open split's sums, all
  /// sums.
  int64_t head_floats() const {
    return (32 + kPageTokens + slot.latent_row() + 2 * slot.v_dim + 15) / 16 * 16;
  }
  /// Tokens of one sequence that share a pass; chosen rows are each token's own.
  int64_t pass_tokens() const { return top_k > 0 || n_heads >= kPassQueries ? 1 : kPassQueries / n_heads; }
};

/// A recurrent slot as kernels see it: places in a page, in floats (RecurrentPage).
struct ScanSlot {
  int64_t row = 0;
  int64_t n_blocks = 0;
  int64_t state = 0;
  int64_t counts = 0;
  int64_t states = 0;
  int64_t page_floats = 0;
  int64_t max_pages = 0;
};

/// Of ops that walk a recurrent slot; thread_bytes holds one block's state.
struct ScanArgs : OpArgs {
  ScanSlot slot;
};

struct Ssm2Args : ScanArgs {
  int64_t n_heads = 0;
  int64_t head_dim = 0;
  int64_t n_groups = 1;
  int64_t state_dim = 0;
  float dt_min = 0.0f;
  float dt_max = 0.0f;

  int64_t d_inner() const { return n_heads * head_dim; }
  int64_t xbc_width() const { return d_inner() + 2 * n_groups * state_dim; }
};

struct Ssm1Args : ScanArgs {
  PackedWeight::Layout a_log;
  int64_t rate_bytes = 0;  // of one element
  int64_t d_inner = 0;
  int64_t d_state = 0;
};

struct DeltaArgs : ScanArgs {
  int64_t n_k_heads = 0;
  int64_t n_v_heads = 0;
  int64_t k_dim = 0;
  int64_t v_dim = 0;
  float norm_eps = 0.0f;

  bool tiled = false;  // GatedDelta's
  int64_t key_head(int64_t head) const { return tiled ? head % n_k_heads : head / (n_v_heads / n_k_heads); }
  bool is_first_of_key(int64_t head) const {
    return tiled ? head < n_k_heads : head % (n_v_heads / n_k_heads) == 0;
  }
  int64_t k_width() const { return n_k_heads * k_dim; }
  int64_t v_width() const { return n_v_heads * v_dim; }
};

struct ConvArgs : OpArgs {
  PackedWeight::Layout taps;
  uint64_t tap_bytes = 0;  // of one element
  int bias = -1;           // operand
  int64_t width = 0;
  int64_t n_taps = 0;
  int64_t max_pages = 0;
  bool silu = false;
};

struct IndexSelectArgs : OpArgs {
  SlotShape slot;
  int64_t n_heads = 0;
  int64_t top_k = 0;

  /// Workspace of one token, in floats: a score per key, the heads' queries as latent rows, a page's
  /// products.
  int64_t score_floats() const { return slot.max_pages * kPageTokens; }
  int64_t query_floats() const { return n_heads * slot.latent_row(); }
};

struct HeadLinearArgs : OpArgs {
  LinearPart part;
  int64_t n_heads = 1;
};

constexpr int64_t kFastQueries = 24;   // of one head that share a pass over decompressed keys
constexpr int64_t kFastTileRows = 32;  // rows of an up-projection decoded at a time

/// mla_fast_attention. The parts are run with operands of their own (mla_fast_attention.cc says which).
struct MlaFastArgs : OpArgs {
  HeadLinearArgs up_keys, up_values;
  MlaArgs absorbed;
  uint64_t parts_bytes = 0;  // workspace of the hungriest part
  int64_t min_tokens = 1;
  int64_t nope = 0, v_dim = 0;  // of a head
  int64_t max_tokens = 0, max_seqs = 0;

  int64_t key_width() const { return nope + absorbed.slot.k_dim; }
  int64_t split_keys() const { return kSplitPages * kPageTokens; }
  /// Thread's workspace: decoded rows, then per query 32 floats of state, scores, query, sums.
  int64_t query_floats() const { return (32 + kPageTokens + key_width() + v_dim + 15) / 16 * 16; }
  int64_t tile_floats() const {
    return kFastTileRows * max_of_two(scratch_stride(nope), scratch_stride(absorbed.slot.v_dim));
  }

 private:
  static int64_t max_of_two(int64_t a, int64_t b) { return a < b ? b : a; }
};

/// Its shared workspace: offsets in bytes. Tokens that are absorbed are packed together first.
struct MlaFastPlaces {
  uint64_t header = 0, token_seq = 0, seqs = 0;
  uint64_t q_nope = 0, q_pe = 0, q_latent = 0, mixed = 0, values = 0, parts = 0;
  uint64_t split_keys = 0, split_values = 0, states = 0;  // of the decompressed; they lie over the others
  uint64_t end = 0;

  explicit MlaFastPlaces(const MlaFastArgs& args) {
    const auto take = [&](int64_t n, uint64_t bytes) {
      const uint64_t at = end;
      end = (end + static_cast<uint64_t>(n) * bytes + 63) / 64 * 64;
      return at;
    };
    const int64_t heads = args.max_tokens * args.absorbed.n_heads, rank = args.absorbed.slot.v_dim;
    header = take(1, sizeof(StepHeader));
    token_seq = take(args.max_tokens, sizeof(int32_t));
    seqs = take(args.max_seqs, sizeof(StepSeq));
    q_nope = take(heads * args.nope, sizeof(float));
    q_pe = take(heads * args.absorbed.slot.k_dim, sizeof(float));
    q_latent = take(heads * rank, sizeof(float));
    mixed = take(heads * rank, sizeof(float));
    values = take(heads * args.v_dim, sizeof(float));
    parts = take(1, args.parts_bytes);
    const uint64_t absorbed_end = end;
    end = 0;
    split_keys = take(args.absorbed.n_heads * args.split_keys() * args.key_width(), sizeof(float));
    split_values = take(args.absorbed.n_heads * args.split_keys() * args.v_dim, sizeof(float));
    states = take(heads * split_floats(args.v_dim), sizeof(float));
    if (end < absorbed_end) end = absorbed_end;
  }
};

constexpr int32_t kMaxRouterGroups = 64;

struct RouterArgs : OpArgs {
  LinearPart part;  // weight and bias
  int selection_bias_operand = -1, expert_scale_operand = -1;
  MoeRouter op;
};

struct ExpertsArgs : OpArgs {
  LinearPart gate, up, down;
  MoeExperts op;
  int64_t d_model = 0;
  int64_t d_ff = 0;
  int64_t max_pairs = 0;  // (token, expert) pairs of a step
};

/// Where an experts kernel keeps its lists in the shared workspace: offsets in bytes.
struct ExpertPlaces {
  uint64_t begin = 0;   // i32 [n_experts + n_identity + 1]: pairs of an expert
  uint64_t token = 0;   // i32 [max_pairs]
  uint64_t weight = 0;  // f32 [max_pairs]
  uint64_t hidden = 0;  // f32 [max_pairs, d_ff]
  uint64_t quantized_x = 0, quantized_hidden = 0;
  uint64_t end = 0;

  explicit ExpertPlaces(const ExpertsArgs& args) {
    const auto pairs = static_cast<uint64_t>(args.max_pairs);
    const auto take = [&](uint64_t bytes) {
      const uint64_t at = end;
      end = (end + bytes + 63) / 64 * 64;
      return at;
    };
    begin = take(static_cast<uint64_t>(args.op.n_experts + args.op.n_identity + 1) * sizeof(int32_t));
    token = take(pairs * sizeof(int32_t));
    weight = take(pairs * sizeof(float));
    hidden = take(pairs * static_cast<uint64_t>(args.d_ff) * sizeof(float));
    const bool inputs = args.gate.order == WeightOrder::kPanels || args.up.order == WeightOrder::kPanels;
    quantized_x = take(inputs ? pairs * static_cast<uint64_t>(quantized_row_bytes(args.d_model)) : 0);
    const bool hiddens = args.down.order == WeightOrder::kPanels;
    quantized_hidden = take(hiddens ? pairs * static_cast<uint64_t>(quantized_row_bytes(args.d_ff)) : 0);
  }
};

/// add, mul, act_mul, activate, xielu, softcap, scale, scale_by.
struct ElementArgs : OpArgs {
  int64_t width = 0;
  int64_t gate_width = 0;  // act_mul: width, or 1
  Act act = Act::kSilu;
  float factor = 1.0f;       // scale's factor, softcap's cap
  int64_t weight_width = 0;  // scale_by: 1 or width
};

/// weighted_sum, cutoff, match_magnitude.
struct StreamArgs : OpArgs {
  int64_t width = 0;
  int64_t coefficient_width = 0;
  int64_t begin = 0;      // first coefficient
  int64_t n_streams = 0;  // of weighted_sum
  float number = 0.0f;    // offset, multiplier or min_square
};

struct ScaleColumnsArgs : OpArgs {
  std::vector<float> factors;
};

struct SliceArgs : OpArgs {
  int64_t begin = 0;
  int64_t width = 0;
  int64_t input_width = 0;
};

struct PositionScaleArgs : OpArgs {
  int64_t width = 0;
  int64_t stride = 1;
  int64_t offset = 0;
  std::vector<float> factors;
};

struct GatherArgs : OpArgs {
  int64_t width = 0;
};

}  // namespace skua::cpu
