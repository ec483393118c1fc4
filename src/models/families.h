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

struct Family {
  std::string_view name;                          // its file in models/
  std::span<const std::string_view> model_types;  // values of config.json's model_type
  std::string_view gguf_arch;                     // value of general.architecture; empty = none
  GgufRows gguf_rows = GgufRows::kPlain;
  Result<std::unique_ptr<Model>> (*parse)(const Json& config, ConfigPolicy policy) = nullptr;
  /// Adjusts a config made from GGUF metadata; nullptr = nothing to do. `metadata` are the file's keys.
  Status (*adjust_gguf)(const Json& metadata, Json& config) = nullptr;
};

/// Every family, in the order of registry.cc.
std::span<const Family* const> families();

/// The family that runs `model_type`. Error: kUnsupported listing the known ones.
Result<const Family*> find_family(std::string_view model_type);

/// Parses a config. `context` is the longest context that will be served, 0 = the checkpoint's own: rope that
/// depends on length is chosen by it once. Errors: those of find_family and of the family.
Result<std::unique_ptr<Model>> parse_model(const Json& config, ConfigPolicy policy, int32_t context = 0);

}  // namespace skua
