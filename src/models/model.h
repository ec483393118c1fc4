// A family's reading of one config: what the engine must know about the model, and how to build its graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "ir/graph.h"

namespace skua {

/// What to do with config keys that nobody knows: they may change the maths.
enum class ConfigPolicy : uint8_t { kStrict, kAllowUnknown };

/// Facts of a model that do not depend on the backend.
struct ModelInfo {
  std::string model_type;  // as config.json says it
  int32_t n_layers = 0;
  int32_t d_model = 0;
  int32_t d_ff = 0;
  int32_t n_heads = 0;
  int32_t n_kv_heads = 0;
  int32_t head_dim = 0;
  int64_t n_vocab = 0;           // rows of the output matrix
  int32_t max_context = 0;       // positions the checkpoint was made for
  std::vector<int32_t> end_ids;  // config's eos_token_id (one or several)
  int32_t bos_id = -1;           // -1 = none
};

/// Tensors that may be in a checkpoint though the graph does not read them. `pattern` may hold '*'.
struct IgnorableTensor {
  std::string pattern;
  std::string reason;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;

  /// The graph for a backend's edge types. Errors: kInvalidArgument when sizes of the config do not fit
  /// together.
  virtual Result<Graph> build(const Numerics& numerics) const = 0;

  /// Anything else that is left over in the checkpoint fails the load.
  virtual std::vector<IgnorableTensor> ignorable() const { return {}; }
};

}  // namespace skua
