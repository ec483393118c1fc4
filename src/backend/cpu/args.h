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

/// Order of a page: k of every kv head as [k_dim][kPageTokens], then v of every kv head as
/// [kPageTokens][v_dim].
struct SlotShape {
  int64_t n_kv_heads = 0;
  int64_t k_dim = 0;
  int64_t v_dim = 0;
  int64_t max_pages = 0;

  int64_t page_floats() const { return n_kv_heads * (k_dim + v_dim) * kPageTokens; }
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
  float scale = 1.0f;
  float softcap = 0.0f;
  int64_t split_tokens = 0;  // tokens whose splits' results fit the shared workspace
  int64_t n_splits = 0;      // of a sequence, at most
};

/// add, mul, act_mul, activate, xielu, softcap, scale, scale_by.
struct ElementArgs : OpArgs {
  int64_t width = 0;
  Act act = Act::kSilu;
  float factor = 1.0f;       // scale's factor, softcap's cap
  int64_t weight_width = 0;  // scale_by: 1 or width
};

struct SliceArgs : OpArgs {
  int64_t begin = 0;
  int64_t width = 0;
  int64_t input_width = 0;
};

struct PositionScaleArgs : OpArgs {
  int64_t width = 0;
  int64_t stride = 1;
  std::vector<float> factors;
};

struct GatherArgs : OpArgs {
  int64_t width = 0;
};

}  // namespace skua::cpu
