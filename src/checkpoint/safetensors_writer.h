// Writes one safetensors file, tensor after tensor, without holding it in memory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/format.h"

namespace skua {

/// A weight that will be written: plain formats as one tensor, affine as MLX's three (weight, scales,
/// biases).
struct PlannedWeight {
  std::string name;            // ends with ".weight" if affine
  std::vector<int64_t> shape;  // logical, outermost first
  Format format;
};

class SafetensorsWriter {
 public:
  /// Writes the header. Errors: kInvalidArgument (an affine weight with another name), those of FileWriter.
  static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                          std::vector<PlannedWeight> weights);

  /// The next weight's planes: codes (or elements), scales, biases. Their sizes must be those of the plan
  /// (SKUA_CHECK).
  Status append(const std::vector<std::byte> (&planes)[3]);

  /// Puts the file in its place. All weights must have been appended (SKUA_CHECK).
  Status finish();

 private:
  SafetensorsWriter(FileWriter file, std::vector<PlannedWeight> weights)
      : file_(std::move(file)), weights_(std::move(weights)) {}
  FileWriter file_;
  std::vector<PlannedWeight> weights_;
  size_t next_ = 0;
};

/// Bytes of plane `plane` of a weight.
uint64_t plane_bytes(const PlannedWeight& weight, int plane);

}  // namespace skua
