// Checks tensors against their formats as they are added, finds them by name, and turns them into matrices.
#include "checkpoint/tensor_table.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/math.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

/// Rows and columns of a shape: the last dimension is the row; a scalar is 1 x 1; no elements, no rows.
struct MatrixShape {
  uint64_t rows = 1;
  uint64_t cols = 1;
};

MatrixShape matrix_shape(std::span<const int64_t> shape) {
  if (shape.empty()) return {};
  const auto cols = static_cast<uint64_t>(shape.back());
  const uint64_t n = element_count(shape).value_or(0);
  return {cols == 0 ? 0 : n / cols, cols};
}

Status check_planes(const StoredTensor& tensor) {
  const TensorEntry& entry = tensor.entry;
  const auto n = element_count(entry.shape);
  if (!n)
    return data_loss("tensor " + printable(entry.name) + " has the impossible shape " +
                     shape_text(entry.shape));
  if (!tensor.format || *n == 0) return ok_status();
  const Format& format = *tensor.format;
  const MatrixShape matrix = matrix_shape(entry.shape);
  const auto block = static_cast<uint64_t>(block_cols(format));
  if (matrix.cols % block != 0) {
    return data_loss("tensor " + printable(entry.name) + " is stored as " + format_name(format) +
                     " with rows of " + std::to_string(matrix.cols) +
                     " elements; rows must be multiples of " + std::to_string(block));
  }
  for (size_t p = 0; p < 3; ++p) {
    // A row of at most 2^63 elements of at most 4 bytes may wrap: bound the columns before asking for its
    // bytes.
    const bool fits = matrix.cols < (uint64_t{1} << 60);
    const auto wanted = fits ? checked_mul(matrix.rows, plane_row_bytes(format, static_cast<int>(p),
                                                                        static_cast<int64_t>(matrix.cols)))
                             : std::nullopt;
    if (wanted && *wanted == tensor.planes[p].size()) continue;
    return data_loss("tensor " + printable(entry.name) + " " + shape_text(entry.shape) + " as " +
                     format_name(format) + " needs " + (wanted ? std::to_string(*wanted) : "more than 2^64") +
                     " bytes, " + std::to_string(tensor.planes[p].size()) + " are stored");
  }
  return ok_status();
}

}  // namespace

std::optional<uint64_t> element_count(std::span<const int64_t> shape) {
  uint64_t n = 1;
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    const auto product = checked_mul(n, static_cast<uint64_t>(dim));
    if (!product || *product > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    n = *product;
  }
  return empty ? 0 : n;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

Status TensorTable::add(StoredTensor tensor) {
  SKUA_RETURN_IF_ERROR(check_planes(tensor));
  tensor.entry.bytes = tensor.planes[0].size() + tensor.planes[1].size() + tensor.planes[2].size();
  entries_.push_back(std::move(tensor.entry));
  places_.push_back({tensor.format, std::move(tensor.refusal), tensor.planes});
  return ok_status();
}

Status TensorTable::finish() {
  std::vector<size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries_[a].name < entries_[b].name; });
  std::vector<TensorEntry> entries;
  std::vector<Place> places;
  entries.reserve(order.size());
  places.reserve(order.size());
  for (const size_t i : order) {
    if (!entries.empty() && entries.back().name == entries_[i].name) {
      return data_loss("tensor " + printable(entries_[i].name) + " appears twice");
    }
    entries.push_back(std::move(entries_[i]));
    places.push_back(std::move(places_[i]));
  }
  entries_ = std::move(entries);
  places_ = std::move(places);
  return ok_status();
}

const TensorTable::Place* TensorTable::find_place(std::string_view name) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const TensorEntry& entry, std::string_view key) { return entry.name < key; });
  if (at == entries_.end() || at->name != name) return nullptr;
  return &places_[static_cast<size_t>(at - entries_.begin())];
}

Result<EncodedMatrix> TensorTable::matrix(std::string_view name, std::string_view source) const {
  const Place* place = find_place(name);
  const auto where = "[checkpoint] " + std::string(source) + ": tensor " + printable(name);
  if (place == nullptr) return not_found(where + " does not exist");
  const TensorEntry& entry = entries_[static_cast<size_t>(place - places_.data())];
  if (!place->format) return unsupported(where + " " + place->refusal);
  const MatrixShape shape = matrix_shape(entry.shape);
  EncodedMatrix out;
  out.format = *place->format;
  out.rows = static_cast<int64_t>(shape.rows);
  out.cols = static_cast<int64_t>(shape.cols);
  if (shape.rows == 0 || shape.cols == 0) return out;
  for (size_t p = 0; p < 3; ++p) {
    out.planes[p] = place->planes[p].data();
    out.row_stride_bytes[p] = plane_row_bytes(out.format, static_cast<int>(p), out.cols);
  }
  return out;
}

std::array<std::span<const std::byte>, 3> TensorTable::planes(std::string_view name) const {
  const Place* place = find_place(name);
  return place == nullptr ? std::array<std::span<const std::byte>, 3>{} : place->planes;
}

std::array<std::span<const std::byte>, 3> TensorTable::row_planes(std::string_view name, int64_t row,
                                                                  int64_t n) const {
  const Place* place = find_place(name);
  std::array<std::span<const std::byte>, 3> out;
  if (place == nullptr || !place->format || n <= 0 || row < 0) return out;
  const TensorEntry& entry = entries_[static_cast<size_t>(place - places_.data())];
  const MatrixShape shape = matrix_shape(entry.shape);
  if (shape.cols == 0 || static_cast<uint64_t>(row) >= shape.rows) return out;
  const uint64_t count = std::min(static_cast<uint64_t>(n), shape.rows - static_cast<uint64_t>(row));
  for (size_t p = 0; p < 3; ++p) {
    const uint64_t stride =
        plane_row_bytes(*place->format, static_cast<int>(p), static_cast<int64_t>(shape.cols));
    out[p] = place->planes[p].subspan(static_cast<uint64_t>(row) * stride, count * stride);
  }
  return out;
}

}  // namespace skua
