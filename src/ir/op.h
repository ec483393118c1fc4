// The ops of a graph: small structs that say what is computed, never how. Float64 meaning:
// backend/ref/<op>.cc. Sizes: T = n_tokens, R = n_rows, S = n_seqs of the step. Activations are matrices [T
// or R, width].
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "tensor/dtype.h"

namespace skua {

using SlotId = StrongId<struct SlotTag>;  // a cache slot of the graph

enum class EmbedIndex : uint8_t {
  kIds,        // token ids
  kIdsOrZero,  // token ids; those past the table use row 0 (tables that miss some special ids)
  kPositions,  // learned positions
};

/// out[t,:] = table[index[t] + index_offset,:] * scale. Reads step input kIds or kPositions. The index never
/// leaves the table: ids are below n_vocab, and a model with learned positions serves no longer context.
struct Embed {
  WeightId table;  // [n_vocab, d_model]
  float scale = 1.0f;
  EmbedIndex index = EmbedIndex::kIds;
  int32_t index_offset = 0;
};

/// Each row is cut into `n_groups` equal slices; per slice y = x / sqrt(mean(x^2) + eps) * (w +
/// weight_offset). The weight has the slice's width, or the whole row's; without one the factor is 1. Source:
/// arXiv:1910.07467.
struct RmsNorm {
  std::optional<WeightId> weight;
  float eps = 1e-6f;
  float weight_offset = 0.0f;  // 1 for Gemma checkpoints in HF layout
  int32_t n_groups = 1;        // heads, for q/k norms
};

/// Each row is cut into `n_groups` equal slices; per slice y = (x - mean(x)) / sqrt(mean((x - mean)^2) + eps)
/// * w
/// + b. Weight and bias have the slice's width, or the whole row's; without them 1 and 0. Source:
/// arXiv:1607.06450.
struct LayerNorm {
  std::optional<WeightId> weight;
  std::optional<WeightId> bias;
  float eps = 1e-5f;
  int32_t n_groups = 1;
};

/// y[t,n] = sum_k x[t,k] w[n,k] (+ bias[n]).
struct Linear {
  WeightId weight;               // [out, in]
  std::optional<WeightId> bias;  // [1, out]
};

enum class RopeStyle : uint8_t {
  kHalf,         // pairs (i, i + rot_dim/2): Hugging Face order
  kInterleaved,  // pairs (2i, 2i + 1): the original order
};

/// cos and sin of positions[t] * inv_freq[i], times attention_factor. Output [T, 2 * inv_freq.size()]: all
/// cosines, then all sines. Reads step input kPositions. Shared by every layer that rotates alike.
struct RopeAngles {
  std::vector<double> inv_freq;
  double attention_factor = 1.0;
};

/// Rotates the first 2 * (angles width / 2) elements of each head; the rest pass through. Inputs: x, angles.
struct Rope {
  int32_t n_heads = 0;
  int32_t head_dim = 0;
  RopeStyle style = RopeStyle::kHalf;
};

/// Writes k and v rows of this step's tokens into the slot's pages at their cache positions.
/// Inputs: k [T, n_kv_heads * k_dim], v [T, n_kv_heads * v_dim]. No outputs.
struct KvWrite {
  SlotId slot;
};

/// Causal attention of q [T, n_heads * k_dim] over the slot, as stored, including this step's own rows.
/// score = softcap(scale * q.k); query at p sees keys in (p - window, p], of these only the ones in its own
/// chunk [p - p mod chunk, p]; window or chunk 0 = unbounded; softcap 0 = none. A head's sink is one more
/// score in the softmax whose value is zero: it takes weight, and is neither scaled nor capped. A row with no
/// allowed key gives 0. Output [T, n_heads * v_dim]. Source of sinks: arXiv:2309.17453, gpt-oss model card.
struct Attention {
  SlotId slot;
  int32_t n_heads = 0;
  float scale = 1.0f;
  int32_t window = 0;
  float softcap = 0.0f;
  int32_t chunk = 0;
  std::optional<WeightId> sinks = {};  // [1, n_heads]
};

/// The first position that a query at `position` may see.
inline int64_t first_key(int64_t position, int64_t window, int64_t chunk) {
  int64_t first = window > 0 && position >= window ? position - window + 1 : 0;
  if (chunk > 0 && position - position % chunk > first) first = position - position % chunk;
  return first;
}

/// y[t, head * rows + n] = sum_k x[t, head * in + k] w[head * rows + n, k]: one small matrix per head. The
/// weight is [n_heads * rows, in], x is [T, n_heads * in].
struct HeadLinear {
  WeightId weight;
  int32_t n_heads = 0;
};

/// Causal attention over a latent slot (kind kLatent: v = ckv [rank], k = rotated kpe [rope], one row per
/// token for all heads): score = scale * (q_latent . ckv + q_pe . kpe), output = sum of softmax * ckv.
/// Inputs: q_latent [T, n_heads * rank], q_pe [T, n_heads * rope]; with top_k > 0 also the chosen positions
/// [T, top_k] of an IndexSelect: only those are seen. Output [T, n_heads * rank]. Source: arXiv:2405.04434
/// (absorbed form).
struct MlaAttention {
  SlotId slot;
  int32_t n_heads = 0;
  float scale = 1.0f;
  int32_t top_k = 0;  // 0: every earlier token
};

/// Latent attention from a head's own query to its own values: HeadLinear by `up_keys`, MlaAttention,
/// HeadLinear by `up_values` in one op, so that a backend may do without the absorbed form where that is
/// slow. A sequence of which the step brings `min_tokens` tokens or more is decompressed: every head's keys
/// W_UK ckv and values W_UV ckv are made from the latent rows, then attended to as usual; others are
/// absorbed. The value is the same, the arithmetic is not: which one a token gets depends on how its prompt
/// was cut into steps. Inputs: q_nope [T, n_heads * nope], q_pe [T, n_heads * rope]. Output [T, n_heads *
/// v_dim].
struct MlaFastAttention {
  SlotId slot;
  WeightId up_keys;    // W_UK [n_heads * rank, nope]
  WeightId up_values;  // W_UV [n_heads * v_dim, rank]
  int32_t n_heads = 0;
  float scale = 1.0f;
  int32_t min_tokens = 1;
};

/// The earlier positions that a sparse attention looks at: those of the top_k largest index scores,
/// ascending, -1 behind the last; all of them while there are no more than top_k. Equal scores: the lower
/// position. score(key) = sum over heads of weights[head] * max(0, q_head . key); a positive common factor
/// would change nothing. Keys lie in a latent slot: k = the rotated part, v = the rest. Inputs: q_rest [T,
/// n_heads * v_dim], q_rotated [T, n_heads * k_dim], weights [T, n_heads]. Output [T, top_k], whole numbers.
/// Source: DeepSeek-V3.2-Exp (lightning indexer), arXiv:2512.02556.
struct IndexSelect {
  SlotId slot;
  int32_t n_heads = 0;
  int32_t top_k = 0;
};

/// Causal convolution of each channel by itself: y[t,c] = then(bias[c] + sum_j w[j,c] x[t - (K-1) + j, c]),
/// x = 0 before the sequence. Input x [T, C], stored as the slot is. Its rows go into the slot (kind kConv,
/// window K): rows of earlier steps are read from there.
struct CausalConv {
  enum class Then : uint8_t { kNothing, kSilu };

  SlotId slot;
  WeightId weight;               // [K, C]: the tap of the newest row last
  std::optional<WeightId> bias;  // [1, C]
  Then then = Then::kNothing;
};

/// State-space recurrence with one decay per head (Mamba-2), token after token:
///   dt = min(max(softplus(dt_in + dt_bias), dt_min), dt_max),
///   S[n,p] = exp(-exp(a_log) dt) S[n,p] + dt B[n] x[p],   y[p] = sum_n C[n] S[n,p] + d x[p].
/// Inputs: xbc [T, n_heads * head_dim + 2 * n_groups * state_dim] (x by head, B by group, C by group; head h
/// is of group h / (n_heads / n_groups)), dt_in [T, n_heads]. Output [T, n_heads * head_dim]. S lives in the
/// slot (kind kRecurrent, see CacheSlot: a block is a head, a kept row is x, B, dt_in) and is rounded to its
/// storage after each token. Source: arXiv:2405.21060.
struct Ssm2 {
  SlotId slot;
  WeightId a_log, d, dt_bias;  // [1, n_heads]
  int32_t n_heads = 0;
  int32_t head_dim = 0;
  int32_t n_groups = 1;
  int32_t state_dim = 0;
  float dt_min = 0.0f;
  float dt_max = std::numeric_limits<float>::infinity();
};

constexpr int64_t kSsm1Channels = 16;  // channels of a block of Ssm1's state

/// Selective scan with a decay of every channel for each of its N numbers (Mamba-1), token after token:
///   dt = softplus(dt_in[c] + dt_bias[c]),
///   h[c,n] = exp(-exp(a_log[n,c]) dt) h[c,n] + dt B[n] x[c],   y[c] = sum_n C[n] h[c,n] + d[c] x[c].
/// Inputs: x [T, d_inner], dt_in [T, d_inner], B [T, N], C [T, N]. Output [T, d_inner]. h lives in the slot
/// (kind kRecurrent, ssm1_slot(): a block is 16 channels, a kept row is x, dt_in, B) and is rounded to its
/// storage after each token. Source: arXiv:2312.00752.
struct Ssm1 {
  SlotId slot;
  WeightId a_log;       // [N, d_inner]
  WeightId dt_bias, d;  // [1, d_inner]
};

/// Gated delta rule, token after token; value head h reads key head h / (n_v_heads / n_k_heads):
///   k = k / |k|, q = q / |q| / sqrt(k_dim), |x| = sqrt(sum x^2 + norm_eps),
///   decay = exp(-exp(a_log) softplus(a + dt_bias)), beta = sigmoid(b),
///   delta[p] = beta (v[p] - decay sum_i k[i] S[i,p]),
///   S[i,p] = decay S[i,p] + k[i] delta[p],   y[p] = sum_i q[i] S[i,p].
/// Inputs: q, k [T, n_k_heads * k_dim], v [T, n_v_heads * v_dim], a, b [T, n_v_heads]. Output [T, n_v_heads *
/// v_dim]. S lives in the slot (kind kRecurrent, delta_slot(): a block is a value head, a kept row is k, v,
/// a, b) and is rounded to its storage after each token. Source: arXiv:2412.06464.
struct GatedDelta {
  SlotId slot;
  WeightId a_log, dt_bias;  // [1, n_v_heads]
  int32_t n_k_heads = 0;
  int32_t n_v_heads = 0;
  int32_t k_dim = 0;
  int32_t v_dim = 0;
  float norm_eps = 1e-6f;
  bool tiled = false;  // value head h reads key head h % n_k_heads instead

  int64_t key_head(int64_t head) const { return tiled ? head % n_k_heads : head / (n_v_heads / n_k_heads); }
  /// Of the value heads that read one key head, the one that keeps its rows.
  bool is_first_of_key(int64_t head) const {
    return tiled ? head < n_k_heads : head % (n_v_heads / n_k_heads) == 0;
  }
};

enum class RouterScore : uint8_t {
  kSoftmax,  // over all experts
  kSigmoid,  // each expert by itself
};

enum class GroupScore : uint8_t {
  kMax,        // the best choice score of the group
  kTopTwoSum,  // the sum of its two best
};

/// Sparse mixing weights: out[t, e] = weight of expert e for token t, 0 for those not chosen. Input x [T, d],
/// output [T, n_experts].
/// logits = x W^T + bias, in f32 from the stored weights. Choice: the best `top_k_groups` of `n_groups` equal
/// groups, then the best `top_k` experts in them, by logit, or by score + selection_bias if that is given;
/// ties go to the lower index. The mixing weight is the score itself (never the choice value), divided by
/// max(sum over the chosen, sum_floor) + sum_eps if `normalize`, times `scale`, times expert_scale[e].
struct MoeRouter {
  enum class Normalize : uint8_t { kNo, kYes };

  WeightId weight;                         // [n_experts, d]
  std::optional<WeightId> bias;            // [1, n_experts], part of the logits
  std::optional<WeightId> selection_bias;  // [1, n_experts], of the choice alone
  std::optional<WeightId> expert_scale;    // [1, n_experts], of the mixing weight
  RouterScore score = RouterScore::kSoftmax;
  int32_t top_k = 1;
  int32_t n_groups = 1;
  int32_t top_k_groups = 1;
  GroupScore group_score = GroupScore::kMax;
  Normalize normalize = Normalize::kNo;
  float sum_floor = 0.0f;
  float sum_eps = 0.0f;
  float scale = 1.0f;
};

enum class Act : uint8_t {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kRelu,
  kRelu2,  // max(0, x)^2
  kSigmoid,
};

/// y = act(gate) * up. Inputs: gate, up. A gate of one column serves the whole row.
struct ActMul {
  Act act = Act::kSilu;
};

/// y = act(x).
struct Activate {
  Act act = Act::kSilu;
};

/// y = p x^2 + beta x for x > 0, else n (e^min(x, eps) - 1 - x) + beta x; p = softplus(alpha_p), n = beta +
/// softplus(alpha_n). All four are weights of one element. Source: arXiv:2411.13010.
struct XIelu {
  WeightId alpha_p, alpha_n, beta, eps;
};

/// y[t] = sum over experts e with routing[t, e] != 0, in ascending order, of routing[t, e] * expert_e(x[t]);
/// expert_e(x) = down_e (act(gate_e x) * (up_e x)). Experts n_experts .. n_experts + n_identity - 1 return x
/// itself. Inputs: x [T, d], routing [T, n_experts + n_identity] with at most top_k non-zero values a row.
/// Weights hold the experts one after another: gate, up [n_experts * d_ff, d], down [n_experts * d, d_ff],
/// biases [1, rows]. A weight that no token chose is not read.
struct MoeExperts {
  enum class Weigh : uint8_t {
    kOutput,  // routing * expert(x)
    kInput,   // expert(routing * x)
  };

  WeightId gate, up, down;
  std::optional<WeightId> gate_bias, up_bias, down_bias;
  int32_t n_experts = 0;
  int32_t n_identity = 0;
  int32_t top_k = 1;
  Act act = Act::kSilu;
  /// 0: act(g) * u. Else, with g <= limit and |u| <= limit enforced: (u + 1) * g * sigmoid(1.702 g); `act` is
  /// unused. Source: gpt-oss model card and reference code (facts).
  float swiglu_limit = 0.0f;
  Weigh weigh = Weigh::kOutput;
};

/// y = a + b.
struct Add {};

/// y = a * b.
struct Mul {};

/// y[t,i] = x[t,i] * w[i], or * w[0] if the weight has one element.
struct ScaleBy {
  WeightId weight;
};

/// y[t,i] = x[t,i] * factors[i]: fixed numbers, one per column.
struct ScaleColumns {
  std::vector<float> factors;
};

/// y[t,i] = x[t, begin + i], i < width.
struct Slice {
  int64_t begin = 0;
  int64_t width = 0;
};

/// y = sum_i (c[t, begin + i] + offset) * x_i, i < number of x. Inputs: c, then the x. Streams mixed by
/// coefficients of the token.
struct WeightedSum {
  int64_t begin = 0;
  float offset = 0.0f;
};

/// y = max(0, x - mean(x) - multiplier * std(x)), each row by itself; std without bias correction.
struct Cutoff {
  float multiplier = 0.0f;
};

/// y = x * sqrt(mean(like^2)) / sqrt(max(mean(x^2), min_square)), each row by itself. Inputs: x, like.
struct MatchMagnitude {
  float min_square = 1e-5f;
};

/// y = x * factors[min((position + offset) / stride, last)]. Reads step input kPositions. Attention
/// temperatures that grow with the position.
struct PositionScale {
  int32_t stride = 1;
  std::vector<float> factors;
  int32_t offset = 0;
};

/// y = cap * tanh(x / cap).
struct Softcap {
  float cap = 0.0f;
};

/// y = x * factor.
struct Scale {
  float factor = 1.0f;
};

/// [T, w] -> [R, w]: the rows named by step input kRows. Only these get logits.
struct GatherRows {};

// ---- Fused ops: made by plan/fuse only, never by a family. Each equals its parts, bit for bit. ----

/// Inputs a, b; outputs sum = a + b and norm(sum).
struct AddRmsNorm {
  RmsNorm norm;
};

/// Several linears of one input. Outputs in the order of `parts`.
struct MultiLinear {
  std::vector<Linear> parts;
};

/// act(x gate^T) * (x up^T); the two products are rounded to `product_storage` first, as the unfused edges
/// are.
struct GatedLinear {
  Linear gate, up;
  Act act = Act::kSilu;
  DType product_storage = DType::kF32;
};

/// Rope on k, then KvWrite of (rotated k, v). Inputs: k, angles, v. `key_storage` is the rotated edge's type.
struct RopeKvWrite {
  Rope rope;
  KvWrite write;
  DType key_storage = DType::kF32;
};

using Op = std::variant<Embed, RmsNorm, LayerNorm, Linear, HeadLinear, RopeAngles, Rope, KvWrite, Attention,
                        MlaAttention, MlaFastAttention, IndexSelect, CausalConv, Ssm1, Ssm2, GatedDelta,
                        MoeRouter, MoeExperts, ActMul, Activate, XIelu, Add, Mul, ScaleBy, ScaleColumns,
                        Slice, WeightedSum, Cutoff, MatchMagnitude, PositionScale, Softcap, Scale, GatherRows,
                        AddRmsNorm, MultiLinear, GatedLinear, RopeKvWrite>;

/// "rms_norm", "linear", ...: stable names for plans, benches and tests.
std::string_view op_name(const Op& op);

std::string_view act_name(Act act);

/// What a step brings besides activations: written by the host (or the device) before each run.
enum class StepInput : uint8_t {
  kHeader,     // StepHeader: the real counts
  kIds,        // i32 [T]
  kPositions,  // i32 [T]: rope positions
  kTokenSeq,   // i32 [T]: index into kSeqs
  kSeqs,       // StepSeq [S]
  kRows,       // i32 [R]: token indices whose logits are wanted
  kPageTable,  // i32 [S, max_pages]: page of each 64-token stretch, -1 = not resident; one per cache group
};

/// Real sizes of one step; a plan is lowered for capacities at or above them.
struct StepHeader {
  int32_t n_tokens = 0;
  int32_t n_seqs = 0;
  int32_t n_rows = 0;
  int32_t step = 0;
};

/// One sequence of a step: its tokens are rows [q_begin, q_begin + q_len) of the batch and sit at cache
/// positions [kv_len - q_len, kv_len).
struct StepSeq {
  int32_t q_begin = 0;
  int32_t q_len = 0;
  int32_t kv_len = 0;
  int32_t reserved = 0;
};

/// Step inputs that an op reads, kHeader first, in the order in which its kernel gets them.
std::vector<StepInput> step_inputs(const Op& op);

/// Weights that an op reads, in kernel order.
std::vector<WeightId> op_weights(const Op& op);

/// True for ops that only read their slot.
bool reads_slot(const Op& op);

/// True for recurrent ops, which write this step's rows into their slot and read those of earlier steps.
bool scans_slot(const Op& op);

/// The cache slot that an op touches, if any.
std::optional<SlotId> op_slot(const Op& op);

}  // namespace skua
