// Pieces that several families share. A family wires them; they know no family.
#pragma once

#include <optional>
#include <string>

#include "ir/builder.h"
#include "models/config_reader.h"

namespace skua {

/// A norm as a family has it: kind, and which of its vectors are in the checkpoint.
struct Norm {
  enum class Kind : uint8_t { kRms, kLayer } kind = Kind::kRms;
  enum class Vectors : uint8_t { kNone, kWeight, kWeightAndBias } vectors = Vectors::kWeight;
  float eps = 1e-6f;
  float weight_offset = 0.0f;  // kRms only
};

/// norm(x) over rows of `width`, weights `prefix`.weight and `prefix`.bias.
ValueId norm_block(GraphBuilder& b, std::string_view label, const Norm& norm, const std::string& prefix,
                   int64_t width, ValueId x, DType storage);

/// How the rows of a fused q, k, v projection lie.
enum class FusedRows : uint8_t {
  kInTurn,   // all of q, all of k, all of v
  kPerHead,  // q, k, v of the first head, then of the next
};

/// When q and k are normed, and over what.
enum class QkNormAt : uint8_t { kBeforeRope, kAfterRope };
enum class QkNormOver : uint8_t {
  kHead,           // each head by itself, one weight for all of them
  kEachHead,       // each head by itself, with a weight of its own: name.weight is [n_heads, head_dim]
  kEachHeadApart,  // the same as tensors name.norms.HEAD.weight (in GGUF files as one)
  kAllHeads,       // all heads together
};

enum class Rotation : uint8_t { kRope, kNone };

/// Where a layer's keys and values come from.
enum class Keys : uint8_t {
  kOwn,
  kShared,  // another layer wrote them into `slot`
};

enum class Values : uint8_t {
  kProjected,
  kAsKeys,  // of the key projection, before norm and rotation
};

/// One attention layer. Its projections are named as transformers does: separate, or fused if `qkv_name` is
/// set.
struct AttentionBlock {
  std::string prefix;  // "model.layers.3.self_attn"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t n_heads = 0;
  int32_t n_kv_heads = 0;
  int32_t head_dim = 0;
  bool qkv_bias = false;
  bool o_bias = false;
  std::optional<RmsNorm> qk_norm;  // weights q_norm_name and k_norm_name; its `weight` is filled in here
  Norm::Kind qk_norm_kind = Norm::Kind::kRms;  // kLayer takes the eps of qk_norm
  bool qk_norm_bias = false;                   // kLayer only
  float scale = 0.0f;                          // 0 = 1 / sqrt(head_dim)
  int32_t window = 0;                          // 0 = all earlier tokens
  int32_t chunk = 0;                           // 0 = none; else keys of the query's own chunk alone
  std::string sinks_name;  // a score per head that takes weight and gives nothing; empty = none
  float softcap = 0.0f;
  QkNormAt qk_norm_at = QkNormAt::kBeforeRope;
  QkNormOver qk_norm_over = QkNormOver::kHead;
  Rotation rotation = Rotation::kRope;
  RopeStyle rope_style = RopeStyle::kHalf;
  std::optional<PositionScale> query_scale;  // of the rotated queries
  std::optional<SlotId> slot;                // empty: the block declares its own (attention_slot)
  Keys keys = Keys::kOwn;
  Values values = Values::kProjected;
  std::optional<float> v_norm_eps;  // values are normed per head, without weights
  std::string q_name = "q_proj", k_name = "k_proj", v_name = "v_proj", o_name = "o_proj";
  std::string q_norm_name = "q_norm", k_norm_name = "k_norm";  // empty: norms without weights
  std::string qkv_name;                                        // empty: separate projections
  std::string
      gate_name;  // if set: output *= sigmoid(gate(x)); as q_name: gates are there, below each head's q
  FusedRows fused_rows = FusedRows::kInTurn;
  Transpose transpose = Transpose::kNo;  // of all its matrices
};

/// Declares the cache slot that the block needs.
SlotId attention_slot(GraphBuilder& b, const AttentionBlock& block);

/// x itself if it is stored as `storage`, else a copy that is.
ValueId stored_as(GraphBuilder& b, std::string_view label, ValueId x, DType from, DType storage);

/// x [T, d_model] -> [T, d_model]; writes this layer's cache slot, then attends.
ValueId attention_block(GraphBuilder& b, const AttentionBlock& block, ValueId x,
                        std::optional<ValueId> angles);

/// down(act(gate(x)) * up(x)); with `gate_up_name`, gate and up are the halves of one tensor.
struct MlpBlock {
  std::string prefix;  // "model.layers.3.mlp"
  int32_t d_model = 0;
  int32_t d_ff = 0;
  Act act = Act::kSilu;
  bool bias = false;
  std::string gate_up_name = {};
  std::string gate_name = "gate_proj", up_name = "up_proj", down_name = "down_proj";
  float gate_scale = 1.0f;  // of what goes into the activation
};
ValueId mlp_block(GraphBuilder& b, const MlpBlock& block, ValueId x);

/// down(act(up(x))).
struct PlainMlpBlock {
  std::string up, down;  // whole names without ".weight"
  int32_t d_model = 0;
  int32_t d_ff = 0;
  Act act = Act::kSilu;
  bool bias = false;
  Transpose transpose = Transpose::kNo;
};
ValueId plain_mlp_block(GraphBuilder& b, const PlainMlpBlock& block, ValueId x);

/// Logits of the rows that are asked for: final norm is applied before. Uses `head` or, when tied, the
/// embedding.
struct HeadBlock {
  int32_t d_model = 0;
  int64_t n_vocab = 0;
  bool tied = false;
  float softcap = 0.0f;
  float scale = 1.0f;
  bool bias = false;
  std::string head_name = "lm_head", embed_name = "model.embed_tokens";
};
ValueId head_block(GraphBuilder& b, const HeadBlock& block, ValueId x);

/// The activation called `name` by transformers, or an error through `config`.
Act read_act(ConfigReader& config, std::string_view key, std::string_view fallback);

/// Weight patterns that a tied model may carry besides.
std::vector<IgnorableTensor> common_ignorable(bool tied);

}  // namespace skua
