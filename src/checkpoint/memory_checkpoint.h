// A checkpoint whose tensors are given by the program: for tests and for regenerated golden weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_table.h"

namespace skua {

/// Owns its bytes. Filled by one thread, then read-only like every checkpoint.
class MemoryCheckpoint : public Checkpoint {
 public:
  explicit MemoryCheckpoint(std::string source = "memory") : source_(std::move(source)) {}

  /// Adds a tensor in any format; `bytes` holds its planes one after another (codes, scales, biases).
  /// Errors: kDataLoss (bytes and shape disagree), kInvalidArgument (the name exists).
  Status add_tensor(std::string name, std::vector<int64_t> shape, const Format& format,
                    std::vector<std::byte> bytes);

  /// The same for plain elements: f32, f16, bf16 (others are listed, but matrix() refuses them).
  Status add_tensor(std::string name, std::vector<int64_t> shape, DType type, std::vector<std::byte> bytes);

  /// Adds values rounded once to `type` (f32, f16, bf16).
  Status add_values(std::string name, std::vector<int64_t> shape, DType type, std::span<const float> values);

  /// From now on release() gives a tensor's memory back, and matrix() of it is an error: for large models
  /// that are packed once.
  void free_when_released() { frees_ = true; }

  void set_config(Json config) { config_ = std::move(config); }
  void set_side_file(std::string name, std::string text) { side_files_[std::move(name)] = std::move(text); }

  CheckpointKind kind() const override { return CheckpointKind::kMemory; }
  std::string source() const override { return source_; }
  const Json& config() const override { return config_; }
  std::span<const TensorEntry> tensors() const override { return table_.entries(); }
  Result<EncodedMatrix> matrix(std::string_view name) const override;
  void release(std::string_view name) const override;
  Result<std::string> side_file(std::string_view name) const override;

 private:
  Status add(StoredTensor tensor, std::vector<std::byte> bytes);

  std::string source_;
  Json config_ = Json::object();
  std::map<std::string, std::string, std::less<>> side_files_;
  /// By name; the table points into these. Emptied by release().
  mutable std::map<std::string, std::vector<std::byte>, std::less<>> bytes_;
  bool frees_ = false;
  TensorTable table_;
};

}  // namespace skua
