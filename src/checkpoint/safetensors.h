// safetensors files: 8 bytes of header length (little-endian), a JSON header {name: {dtype, shape,
// data_offsets}}, then the tensors' bytes. Source: the safetensors format description (facts).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "tensor/dtype.h"

namespace skua {

/// One tensor of a file. `bytes` points into the parsed file and has exactly the size that dtype and shape
/// ask for.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;          // as the file calls it: "BF16"
  std::optional<DType> type;  // nothing for types that exist but have no DType here ("F8_E5M2", ...)
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Parses a whole file held in memory. Every length is checked against the bytes there are; tensors may not
/// overlap. Bytes that belong to no tensor (holes, a tail) are allowed: some writers pad. Unknown dtypes are
/// errors, never mapped. Errors: kDataLoss.
Result<std::vector<SafetensorsTensor>> parse_safetensors(std::span<const std::byte> file);

/// A mapped safetensors file.
class SafetensorsFile {
 public:
  /// Errors: kNotFound, kIo, kDataLoss; each names the file.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // in header order
  /// Moves the list out, to hold it once only; tensors() is empty afterwards. Their bytes stay with this
  /// file.
  std::vector<SafetensorsTensor> take_tensors() { return std::move(tensors_); }
  const MappedFile& file() const { return file_; }

  /// The tensor called `name`, or nullptr. Linear.
  const SafetensorsTensor* find(std::string_view name) const;

  /// Copies of all elements of an I64 or F32 tensor. Errors: kNotFound, kInvalidArgument (another dtype).
  Result<std::vector<int64_t>> read_i64(std::string_view name) const;
  Result<std::vector<float>> read_f32(std::string_view name) const;

 private:
  Result<const SafetensorsTensor*> find_typed(std::string_view name, DType type) const;

  MappedFile file_;
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace skua
