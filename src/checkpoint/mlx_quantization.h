// What config.json says about MLX quantization: a default, and overrides per module.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace skua {

/// How one module's weight was quantized.
struct QuantSetting {
  std::string mode = "affine";
  int64_t bits = 0;
  int64_t group = 0;
  std::string
      origin;  // where it stands, for messages: "quantization", "quantization[\"model.layers.0.mlp\"]"
};

/// One override: a setting, or "not quantized" (nothing).
struct QuantOverride {
  std::string module;
  std::optional<QuantSetting> setting;
};

/// Whether transformers' MXFP4 is said: quantization_config.quant_method is "mxfp4". Then weights lie as
/// X_blocks and X_scales, which are told by their names; parse() finds no settings of MLX.
bool says_mxfp4(const Json& config);

/// The settings of one checkpoint.
class MlxQuantization {
 public:
  /// Reads `quantization`, or `quantization_config` where it has the same form. No such key: a value without
  /// default. Errors: kUnsupported (another quantizer: FP8, GPTQ, AWQ, ...; but for says_mxfp4),
  /// kInvalidArgument (incomplete, contradictory or unknown settings: nothing is guessed).
  static Result<MlxQuantization> parse(const Json& config);

  /// Settles which override belongs to which module: the same path, or else the only module whose path
  /// differs by a prefix alone (wrappers add "language_model." and the like). Errors: kInvalidArgument for an
  /// override with settings that fits no module or several.
  Status match(std::span<const std::string_view> modules);

  bool is_quantized() const { return default_.has_value(); }

  /// The setting of a module after match(); nothing if it is said not to be quantized. `explicitly` tells
  /// whether an override says so.
  struct Choice {
    const QuantSetting* setting;
    const QuantOverride* override_used;
  };
  Choice choose(std::string_view module) const;

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<QuantSetting> default_;
  std::vector<QuantOverride> overrides_;
  std::unordered_map<std::string, size_t> by_module_;  // module -> index into overrides_
  std::vector<std::string> notes_;
};

}  // namespace skua
