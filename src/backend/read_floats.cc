// Turns downloaded elements into doubles.
#include "backend/read_floats.h"

#include <cstring>
#include <string>

namespace skua {
namespace {

template <typename T>
T load(const std::byte* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

double element(DType type, const std::byte* bytes, size_t i) {
  switch (type) {
    case DType::kF64:
      return load<double>(bytes, i);
    case DType::kF32:
      return load<float>(bytes, i);
    case DType::kF16:
      return f16_to_f32(load<uint16_t>(bytes, i));
    case DType::kBF16:
      return bf16_to_f32(load<uint16_t>(bytes, i));
    default:
      return f8e4m3_to_f32(load<uint8_t>(bytes, i));
  }
}

}  // namespace

Result<std::vector<double>> read_floats(Backend& backend, const std::byte* from, DType storage, size_t n) {
  if (!is_float(storage)) {
    return unsupported("[read_floats] expected a float type, got " + std::string(dtype_name(storage)));
  }
  const uint64_t element_bytes = backend.element_bytes(storage);
  const DType in_memory = element_bytes == 8 ? DType::kF64 : storage;
  SKUA_CHECK_EQ(element_bytes, dtype_bytes(in_memory));
  std::vector<std::byte> raw(n * element_bytes);
  SKUA_RETURN_IF_ERROR(backend.download(raw, from));
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = element(in_memory, raw.data(), i);
  return values;
}

}  // namespace skua
