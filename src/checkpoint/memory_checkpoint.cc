// MemoryCheckpoint: keeps the given bytes and cuts them into planes.
#include "checkpoint/memory_checkpoint.h"

#include <cstring>

namespace skua {

Status MemoryCheckpoint::add(StoredTensor tensor, std::vector<std::byte> bytes) {
  if (find(tensor.entry.name) != nullptr) {
    return invalid_argument("[checkpoint] " + source_ + ": tensor " + tensor.entry.name +
                            " was added before");
  }
  tensor.entry.members = {tensor.entry.name};
  const std::string name = tensor.entry.name;
  SKUA_RETURN_IF_ERROR(table_.add(std::move(tensor)).with_context("[checkpoint] " + source_));
  bytes_[name] = std::move(bytes);  // moving a vector leaves its elements where they are
  return table_.finish();
}

Status MemoryCheckpoint::add_tensor(std::string name, std::vector<int64_t> shape, const Format& format,
                                    std::vector<std::byte> bytes) {
  StoredTensor tensor;
  tensor.entry.name = std::move(name);
  tensor.entry.shape = std::move(shape);
  tensor.entry.stored_type = format_name(format);
  tensor.format = format;
  const auto n = element_count(tensor.entry.shape);
  const int64_t cols = tensor.entry.shape.empty() ? 1 : tensor.entry.shape.back();
  std::span<const std::byte> rest(bytes);
  // Cut off scales and biases by their share of the columns; what is left are the codes. add() checks all
  // three.
  if (n && *n > 0 && format.kind == FormatKind::kMxfp4 && cols % block_cols(format) == 0) {
    const uint64_t rows = *n / static_cast<uint64_t>(cols);
    tensor.planes[1] = rest.last(std::min<uint64_t>(rows * plane_row_bytes(format, 1, cols), rest.size()));
    rest = rest.first(rest.size() - tensor.planes[1].size());
  }
  if (n && *n > 0 && format.kind == FormatKind::kAffine && cols % block_cols(format) == 0) {
    const uint64_t rows = *n / static_cast<uint64_t>(cols);
    const uint64_t part = std::min(rows * plane_row_bytes(format, 1, cols), uint64_t{rest.size()} / 2);
    tensor.planes[2] = rest.last(part);
    tensor.planes[1] = rest.first(rest.size() - part).last(part);
    rest = rest.first(rest.size() - 2 * part);
  }
  tensor.planes[0] = rest;
  return add(std::move(tensor), std::move(bytes));
}

Status MemoryCheckpoint::add_tensor(std::string name, std::vector<int64_t> shape, DType type,
                                    std::vector<std::byte> bytes) {
  if (type == DType::kF32 || type == DType::kF16 || type == DType::kBF16) {
    return add_tensor(std::move(name), std::move(shape), plain_format(type), std::move(bytes));
  }
  StoredTensor tensor;
  tensor.entry.name = std::move(name);
  tensor.entry.shape = std::move(shape);
  tensor.entry.stored_type = dtype_name(type);
  tensor.refusal = "is stored as " + tensor.entry.stored_type + ", which is no weight format";
  tensor.planes[0] = bytes;
  return add(std::move(tensor), std::move(bytes));
}

Status MemoryCheckpoint::add_values(std::string name, std::vector<int64_t> shape, DType type,
                                    std::span<const float> values) {
  const size_t width = dtype_bytes(type);
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = type == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
    const void* from = type == DType::kF32 ? static_cast<const void*>(&values[i]) : &half;
    std::memcpy(&bytes[i * width], from, width);
  }
  return add_tensor(std::move(name), std::move(shape), plain_format(type), std::move(bytes));
}

Result<EncodedMatrix> MemoryCheckpoint::matrix(std::string_view name) const {
  const TensorEntry* entry = find(name);
  if (entry != nullptr && entry->bytes > 0 && bytes_.find(name)->second.empty()) {
    return internal_error("[checkpoint] " + source_ + ": tensor " + std::string(name) + " was released");
  }
  return table_.matrix(name, source_);
}

void MemoryCheckpoint::release(std::string_view name) const {
  const auto at = bytes_.find(name);
  if (frees_ && at != bytes_.end()) std::vector<std::byte>().swap(at->second);
}

Result<std::string> MemoryCheckpoint::side_file(std::string_view name) const {
  const auto at = side_files_.find(name);
  if (at == side_files_.end()) return not_found("[checkpoint] " + source_ + " has no " + std::string(name));
  return at->second;
}

}  // namespace skua
