// Makes safetensors files for tests, honest ones and lying ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skua {

/// A file of the given header text and data; `claimed` replaces the header's true length.
inline std::string raw_safetensors(std::string_view header, std::string_view data = {},
                                   int64_t claimed = -1) {
  const uint64_t size = claimed < 0 ? header.size() : static_cast<uint64_t>(claimed);
  std::string file(8, '\0');
  std::memcpy(file.data(), &size, 8);
  return file.append(header).append(data);
}

class SafetensorsBuilder {
 public:
  SafetensorsBuilder& add(const std::string& name, const std::string& dtype,
                          const std::vector<int64_t>& shape, std::string_view bytes) {
    header_ += (header_.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":[)";
    for (size_t i = 0; i < shape.size(); ++i) header_ += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    header_ += "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
               std::to_string(data_.size() + bytes.size()) + "]}";
    data_ += bytes;
    return *this;
  }

  /// A tensor of `n` elements whose bytes are all `fill`.
  SafetensorsBuilder& filled(const std::string& name, const std::string& dtype,
                             const std::vector<int64_t>& shape, size_t n_bytes, char fill = 0) {
    return add(name, dtype, shape, std::string(n_bytes, fill));
  }

  std::string build() const { return raw_safetensors(header_.empty() ? "{}" : header_ + "}", data_); }

 private:
  std::string header_;
  std::string data_;
};

inline std::span<const std::byte> as_byte_span(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace skua
