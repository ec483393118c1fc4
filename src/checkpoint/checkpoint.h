// A checkpoint as the engine sees it: a config, named tensors, tokenizer sources; wherever they come from.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tensor/format.h"

namespace skua {

/// One tensor of a checkpoint, in file terms.
struct TensorEntry {
  std::string name;
  std::vector<int64_t> shape;        // logical, outermost first (GGUF's order is reversed to match)
  std::string stored_type;           // as the file calls it: "BF16", "Q4_1", "affine4g64:bf16"
  std::vector<std::string> members;  // names of the file tensors behind it (MLX: weight, scales, biases)
  uint64_t bytes = 0;                // stored bytes over all members
};

/// Reports bytes done out of total while weights are read; called from the loading thread.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

enum class CheckpointKind : uint8_t { kSafetensors, kGguf, kMemory };

/// Read-only view of a checkpoint. Owns the mappings that matrices point into. Thread-safe.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  virtual CheckpointKind kind() const = 0;

  /// Where it lies, for messages.
  virtual std::string source() const = 0;

  /// config.json for directories; for GGUF an object with every metadata key (arrays included, except the
  /// three big ones of the vocabulary: tokenizer.ggml.tokens, .scores, .token_type, .merges, which stay in
  /// the file).
  virtual const Json& config() const = 0;

  /// All tensors, sorted by name; MLX triples appear once, under their weight's name.
  virtual std::span<const TensorEntry> tensors() const = 0;

  /// The entry called `name`, or nullptr.
  const TensorEntry* find(std::string_view name) const;

  /// The tensor as a matrix [rows, cols]: the last dimension is cols, the others are folded into rows; a
  /// vector has one row. Errors: kNotFound; kUnsupported (a dtype that is no weight format); kDataLoss.
  virtual Result<EncodedMatrix> matrix(std::string_view name) const = 0;

  /// Tells the system that the bytes of this tensor will not be read again.
  virtual void release(std::string_view name) const = 0;

  /// The same for stored rows [row, row + n) of a tensor, so that large ones can be dropped while they are
  /// packed.
  virtual void release_rows(std::string_view name, int64_t row, int64_t n) const {
    (void)name, (void)row, (void)n;
  }

  /// What was left out or decided at opening, one line each, to be shown as warnings.
  virtual std::span<const std::string> notes() const { return {}; }

  /// Text of a side file ("tokenizer.json", "chat_template.jinja", ...). kNotFound if there is none.
  virtual Result<std::string> side_file(std::string_view name) const = 0;
};

/// Opens a directory with safetensors, one .safetensors file (config.json beside it), or a .gguf file (split
/// files are followed from their first part). Errors name the file and say what was expected, what came, what
/// to do.
Result<std::unique_ptr<Checkpoint>> open_checkpoint(const std::filesystem::path& path);

}  // namespace skua
