// What a family's file exports, and the list of all of them (registry.cc).
#pragma once

#include <span>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace skua {

/// How q and k rows lie in a GGUF file of the family.
enum class GgufRows : uint8_t {
  kPlain,          // as in transformers
  kInterleavedQk,  // permuted for pair-wise rotation; undone at load
};

/// A name of GGUF and what it stands for.
struct GgufName {
  std::string_view gguf;
  std::string_view transformers;
};

/// What converters do to a tensor's numbers or shape, undone at load.
enum class GgufValues : uint8_t {
  kVector,     // a vector, stored with a dimension of 1 or in groups
  kLogVector,  // the same, and -exp(x) is stored for x
  kLogMatrix,  // -exp(x) is stored for x
};

struct GgufChange {
  std::string_view tensor;  // below the layer, with its suffix: "ssm_a", "ssm_norm.weight"
  GgufValues values;
};

/// What a family's GGUF files hold beyond, or other than, what most do (gguf_import.cc). One whose keys name
/// expert_count has experts.
struct GgufNames {
  /// "ffn_gate_inp" -> "mlp.gate" below the layer; with the suffix ("exp_probs_b.bias") the name is whole.
  /// Those of tensors outside of layers ("output_norm") stand for whole modules ("backbone.norm_f").
  std::span<const GgufName> tensors = {};
  /// "expert_count" -> "num_experts", below the architecture's name; "" = known and without influence, or
  /// read by adjust_gguf. They come before what is common to all. Some are converted: expert_gating_func to
  /// text, attention.sliding_window_pattern to layer_types, rope.dimension_count to a fraction of the head;
  /// nextn_predict_layers are not counted as layers.
  std::span<const GgufName> keys = {};
  /// The key is true if the file has the tensor, else false; "" = the tensor says nothing. A bias of
  /// attention's output ("blk.0.attn_output.bias") that is not named here says attention_bias.
  std::span<const GgufName> flags = {};
  std::span<const GgufChange> changes = {};
  /// Lists of the metadata with a number for each layer: "xielu.beta" -> "mlp.act_fn.beta", a vector of one.
  std::span<const GgufName> lists = {};
  std::string_view layers = "model.layers.";
  std::string_view also = {};     // another architecture with the same names
  std::string_view read_as = {};  // the architecture of files that another family reads: for display
  /// As Family::adjust_gguf, for what the tensors say; comes before it.
  Status (*adjust)(const Checkpoint& file, Json& config) = nullptr;
  /// Whether the file is this family's, where several share an architecture; nullptr = all are.
  bool (*fits)(const Checkpoint& file) = nullptr;
};

/// A flag for families whose MLPs may have biases.
inline constexpr GgufName kGgufMlpBias[] = {{"blk.0.ffn_up.bias", "mlp_bias"}};

struct Family {
  std::string_view name;                          // its file in models/
  std::span<const std::string_view> model_types;  // values of config.json's model_type
  std::string_view gguf_arch;                     // value of general.architecture; empty = none
  GgufRows gguf_rows = GgufRows::kPlain;
  Result<std::unique_ptr<Model>> (*parse)(const Json& config, ConfigPolicy policy) = nullptr;
  /// Adjusts a config made from GGUF metadata; nullptr = nothing to do. `metadata` are the file's keys.
  Status (*adjust_gguf)(const Json& metadata, Json& config) = nullptr;
  GgufNames gguf_names = {};
};

/// Every family, in the order of registry.cc.
std::span<const Family* const> families();

/// The family that runs `model_type`. Error: kUnsupported listing the known ones.
Result<const Family*> find_family(std::string_view model_type);

/// Parses a config. `context` is the longest context that will be served, 0 = the checkpoint's own: rope that
/// depends on length is chosen by it once. Errors: those of find_family and of the family.
Result<std::unique_ptr<Model>> parse_model(const Json& config, ConfigPolicy policy, int32_t context = 0);

}  // namespace skua
