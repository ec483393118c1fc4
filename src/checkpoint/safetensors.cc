// SafetensorsFile: a mapped file and its parsed header, and typed copies of single tensors.
#include "checkpoint/safetensors.h"

#include <cstring>

#include "checkpoint/printable.h"

namespace skua {
namespace {

template <typename T>
std::vector<T> copy_elements(const SafetensorsTensor& tensor) {
  std::vector<T> out(tensor.bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), tensor.bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile out;
  SKUA_ASSIGN_OR_RETURN(out.file_, MappedFile::open(path));
  auto tensors = parse_safetensors(out.file_.bytes());
  if (!tensors.ok()) return tensors.status().with_context("[safetensors] " + path.string());
  out.tensors_ = std::move(tensors).value();
  return out;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  for (const SafetensorsTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<const SafetensorsTensor*> SafetensorsFile::find_typed(std::string_view name, DType type) const {
  const auto where = "[safetensors] " + file_.path().string() + ": tensor " + printable(name);
  const SafetensorsTensor* tensor = find(name);
  if (tensor == nullptr) return not_found(where + " does not exist");
  if (tensor->type != type) {
    return invalid_argument(where + " should be " + std::string(dtype_name(type)) + ", it is " +
                            tensor->dtype);
  }
  return tensor;
}

Result<std::vector<int64_t>> SafetensorsFile::read_i64(std::string_view name) const {
  SKUA_ASSIGN_OR_RETURN(const SafetensorsTensor* tensor, find_typed(name, DType::kI64));
  return copy_elements<int64_t>(*tensor);
}

Result<std::vector<float>> SafetensorsFile::read_f32(std::string_view name) const {
  SKUA_ASSIGN_OR_RETURN(const SafetensorsTensor* tensor, find_typed(name, DType::kF32));
  return copy_elements<float>(*tensor);
}

}  // namespace skua
