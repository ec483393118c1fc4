// Makes GGUF files for tests, honest ones and lying ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf.h"

namespace skua {

/// Bytes of numbers and strings as GGUF writes them.
template <typename T>
std::string gguf_number(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}
inline std::string gguf_text(std::string_view text) {
  return gguf_number<uint64_t>(text.size()).append(text);
}

class GgufBuilder {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;
  uint64_t extra_tensors = 0;  // added to the announced count
  uint64_t extra_pairs = 0;

  /// A pair whose value bytes are given.
  GgufBuilder& raw(std::string_view key, uint32_t type, std::string_view value) {
    pairs_ += gguf_text(key) + gguf_number(type) + std::string(value);
    ++n_pairs_;
    return *this;
  }
  template <typename T>
  GgufBuilder& number(std::string_view key, GgufType type, T value) {
    return raw(key, static_cast<uint32_t>(type), gguf_number(value));
  }
  GgufBuilder& text(std::string_view key, std::string_view value) {
    return raw(key, static_cast<uint32_t>(GgufType::kString), gguf_text(value));
  }
  GgufBuilder& array(std::string_view key, GgufType type, uint64_t count, std::string_view elements) {
    return raw(key, static_cast<uint32_t>(GgufType::kArray),
               gguf_number(static_cast<uint32_t>(type)) + gguf_number(count) + std::string(elements));
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes;
    for (const auto& value : values) bytes += gguf_text(value);
    return array(key, GgufType::kString, values.size(), bytes);
  }

  /// A tensor info; dims as in the file (innermost first).
  GgufBuilder& info(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                    uint64_t offset) {
    infos_ += gguf_text(name) + gguf_number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) infos_ += gguf_number(dim);
    infos_ += gguf_number(type) + gguf_number(offset);
    ++n_infos_;
    return *this;
  }
  /// A tensor with its bytes, put behind the others.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                      std::string_view bytes) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    info(name, dims, type, data_.size());
    data_ += bytes;
    return *this;
  }
  GgufBuilder& data(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }

  std::string build() const {
    std::string out = "GGUF" + gguf_number(version) + gguf_number(n_infos_ + extra_tensors) +
                      gguf_number(n_pairs_ + extra_pairs) + pairs_ + infos_;
    if (!data_.empty()) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

 private:
  std::string pairs_, infos_, data_;
  uint64_t n_pairs_ = 0, n_infos_ = 0;
};

}  // namespace skua
