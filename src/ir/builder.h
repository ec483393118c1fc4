// Builds a Graph. Methods return value ids; the first error (a config whose sizes do not fit) is kept and
// returned by finish(), so that a family's build() reads like the paper.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace skua {

enum class Transpose : uint8_t { kNo, kYes };

/// Rows [first, first + block) of every `stride` rows of a tensor that, as a matrix, has `rows` rows; of a
/// vector its elements.
struct WeightSource {
  std::string tensor;
  int64_t rows = 0;
  int64_t first = 0;
  int64_t block = 0;
  int64_t stride = 0;
  Transpose transpose = Transpose::kNo;  // the tensor is stored [cols, rows]; then stride = rows
};

class GraphBuilder {
 public:
  explicit GraphBuilder(Numerics numerics) : numerics_(numerics) {}

  const Numerics& numerics() const { return numerics_; }

  /// Prefix of the labels and value names that follow, for example "layers.3".
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  /// Declares a weight (the same name and shape twice gives the same id).
  WeightId weight(std::string name, int64_t rows, int64_t cols);
  WeightId vector(std::string name, int64_t size) { return weight(std::move(name), 1, size); }
  /// A part of a tensor (see WeightSource): rows [first, first + block) of every `stride` of its rows, or the
  /// same of a vector's elements (cols = 1 asks for one).
  WeightId part(const WeightSource& part, int64_t cols);
  /// A weight that is not simply a tensor of its name.
  WeightId weight(WeightDecl decl) { return declare(std::move(decl)); }
  SlotId slot(CacheSlot slot);
  /// The weight [taps, channels] of a depthwise convolution that is stored [channels, 1, taps] (or, as MLX
  /// does, [channels, taps, 1]).
  WeightId conv_weight(const std::string& name, int64_t channels, int64_t taps) {
    return conv_weight(name, channels, taps, 0, channels);
  }
  /// The same of channels [first, first + n) alone.
  WeightId conv_weight(const std::string& name, int64_t channels, int64_t taps, int64_t first, int64_t n);

  ValueId embed(WeightId table, float scale = 1.0f);
  ValueId embed(std::string_view label, Embed embed, DType storage);
  ValueId rms_norm(std::string_view label, ValueId x, RmsNorm norm, DType storage);
  ValueId layer_norm(std::string_view label, ValueId x, LayerNorm norm, DType storage);
  ValueId linear(std::string_view label, ValueId x, Linear linear, DType storage);
  ValueId rope_angles(std::string_view label, RopeAngles angles);
  ValueId rope(std::string_view label, ValueId x, ValueId angles, Rope rope, DType storage);
  void kv_write(std::string_view label, ValueId k, ValueId v, SlotId slot);
  ValueId attention(std::string_view label, ValueId q, Attention attention, DType storage);
  ValueId head_linear(std::string_view label, ValueId x, HeadLinear linear, DType storage);
  ValueId mla_attention(std::string_view label, ValueId q_latent, ValueId q_pe, MlaAttention attention,
                        DType storage, std::optional<ValueId> chosen = std::nullopt);
  ValueId mla_fast_attention(std::string_view label, ValueId q_nope, ValueId q_pe, MlaFastAttention attention,
                             DType storage);
  ValueId index_select(std::string_view label, std::vector<ValueId> inputs, IndexSelect select);
  ValueId causal_conv(std::string_view label, ValueId x, CausalConv conv, DType storage);
  ValueId ssm1(std::string_view label, std::vector<ValueId> inputs, Ssm1 ssm, DType storage);
  ValueId gated_delta(std::string_view label, std::vector<ValueId> inputs, GatedDelta delta, DType storage);
  ValueId ssm2(std::string_view label, ValueId xbc, ValueId dt, Ssm2 ssm, DType storage);
  ValueId moe_router(std::string_view label, ValueId x, MoeRouter router);
  ValueId moe_experts(std::string_view label, ValueId x, ValueId routing, MoeExperts experts, DType storage);
  ValueId act_mul(std::string_view label, ValueId gate, ValueId up, Act act, DType storage);
  ValueId activate(std::string_view label, ValueId x, Act act, DType storage);
  ValueId xielu(std::string_view label, ValueId x, XIelu xielu, DType storage);
  ValueId add(std::string_view label, ValueId a, ValueId b, DType storage);
  ValueId mul(std::string_view label, ValueId a, ValueId b, DType storage);
  ValueId scale_by(std::string_view label, ValueId x, WeightId weight, DType storage);
  ValueId scale_columns(std::string_view label, ValueId x, ScaleColumns scale, DType storage);
  ValueId slice(std::string_view label, ValueId x, Slice slice, DType storage);
  ValueId weighted_sum(std::string_view label, ValueId coefficients, std::vector<ValueId> streams,
                       WeightedSum sum, DType storage);
  ValueId cutoff(std::string_view label, ValueId x, float multiplier, DType storage);
  ValueId match_magnitude(std::string_view label, ValueId x, ValueId like, MatchMagnitude match,
                          DType storage);
  ValueId position_scale(std::string_view label, ValueId x, PositionScale scale, DType storage);
  ValueId scale(std::string_view label, ValueId x, float factor, DType storage);
  ValueId softcap(std::string_view label, ValueId x, float cap, DType storage);
  ValueId gather_rows(ValueId x);

  /// Keeps the first error that a family finds itself.
  void fail(Status status);

  /// The validated graph with `logits` as its output, or the first error.
  Result<Graph> finish(ValueId logits);

 private:
  WeightId declare(WeightDecl decl);
  ValueId emit(std::string_view label, Op op, std::vector<ValueId> inputs, DType storage);

  Numerics numerics_;
  std::string scope_;
  Graph graph_;
  std::unordered_map<std::string, WeightId> weight_ids_;
  Status status_;
};

}  // namespace skua
