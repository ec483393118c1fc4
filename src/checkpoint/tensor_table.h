// The tensors of one checkpoint, found by name: what every kind of checkpoint keeps behind
// Checkpoint::tensors().
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace skua {

/// A tensor and where its bytes lie. Does not own them.
struct StoredTensor {
  TensorEntry entry;             // `bytes` is filled in by TensorTable::add
  std::optional<Format> format;  // nothing: the stored type is no weight format
  std::string refusal;           // without a format: what matrix() answers, after the tensor's name
  std::array<std::span<const std::byte>, 3> planes;  // codes, scales, biases
};

/// Number of elements of a shape, or nothing if a dimension is negative or the product exceeds 2^63 - 1.
std::optional<uint64_t> element_count(std::span<const int64_t> shape);

/// "[8, 64]".
std::string shape_text(std::span<const int64_t> shape);

/// Filled by add(), closed by finish(), then read-only and safe to share.
class TensorTable {
 public:
  /// Checks the tensor against its format: planes must hold exactly the bytes that the shape asks for, and
  /// rows must be whole blocks. Errors: kDataLoss, with the tensor's name.
  Status add(StoredTensor tensor);

  /// Sorts by name. Errors: kDataLoss for a name given twice.
  Status finish();

  std::span<const TensorEntry> entries() const { return entries_; }

  /// See Checkpoint::matrix. `source` is put into the errors.
  Result<EncodedMatrix> matrix(std::string_view name, std::string_view source) const;

  /// The byte ranges of one tensor, empty if there is no such tensor.
  std::array<std::span<const std::byte>, 3> planes(std::string_view name) const;

  /// The byte ranges of rows [row, row + n) in stored order, clipped to the tensor.
  std::array<std::span<const std::byte>, 3> row_planes(std::string_view name, int64_t row, int64_t n) const;

 private:
  struct Place {
    std::optional<Format> format;
    std::string refusal;
    std::array<std::span<const std::byte>, 3> planes;
  };
  const Place* find_place(std::string_view name) const;

  std::vector<TensorEntry> entries_;  // sorted by finish()
  std::vector<Place> places_;         // same order
};

}  // namespace skua
