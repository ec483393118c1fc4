// What a family's file exports, and the list of all of them (registry.cc).
#pragma once

#include <span>
#include <string_view>

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

/// What a family's GGUF files hold beyond, or other than, what most do (gguf_import.cc). One whose keys name
/// expert_count has experts.
struct GgufNames {
  /// "ffn_gate_inp" -> "mlp.gate" below the layer; with the suffix ("exp_probs_b.bias") the name is whole.
  std::span<const GgufName> tensors = {};
  /// "expert_count" -> "num_experts", below the architecture's name; "" = known and without influence. Some
  /// are converted: expert_gating_func to text, attention.sliding_window_pattern to layer_types,
  /// rope.dimension_count to a fraction of the head; nextn_predict_layers are not counted as layers.
  std::span<const GgufName> keys = {};
  /// The key is true if the file has the tensor, else false.
  std::span<const GgufName> flags = {};
};

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
