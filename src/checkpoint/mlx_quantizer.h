// Any checkpoint, written as MLX affine safetensors that mlx-lm reads too.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_writer.h"

namespace skua {

/// Modules whose path holds `part` get `format` (nothing: they stay as they are).
struct QuantRule {
  std::string part;
  std::optional<Format> format;
  size_t n_fitting = 0;  // modules whose path holds `part`; counted by plan()
};

/// plan(), then write(). `source` must outlive it.
class MlxQuantizer {
 public:
  /// `standard` is what linear and embedding modules get that no rule is about; of the rules the last counts.
  MlxQuantizer(const Checkpoint& source, Format standard, std::vector<QuantRule> rules)
      : source_(source), standard_(standard), rules_(std::move(rules)) {}

  /// Chooses each tensor's format. Error: kInvalidArgument if none is quantized, or a rule fits no module or
  /// cannot keep its group.
  Status plan();

  /// Is told after each tensor how many are done, of how many; its error ends the writing.
  using Step = std::function<Status(size_t done, size_t all)>;

  /// Writes model.safetensors and config.json into an existing folder.
  Status write(const std::filesystem::path& folder, const Step& step = {});

  size_t n_quantized() const { return n_quantized_; }
  size_t n_kept() const { return weights_.size() - n_quantized_; }

 private:
  /// The format that the rules want for a tensor; nothing: it stays as it is.
  Result<std::optional<Format>> wanted(const TensorEntry& entry);
  Json config() const;
  Status encode(const PlannedWeight& weight, std::vector<std::byte> (&planes)[3]) const;

  const Checkpoint& source_;
  Format standard_;
  std::vector<QuantRule> rules_;
  std::vector<PlannedWeight> weights_;
  size_t n_quantized_ = 0;
};

}  // namespace skua
