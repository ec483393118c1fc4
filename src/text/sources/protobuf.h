// Just enough of the protocol buffer wire format to read a SentencePiece model.
// Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace skua::text {

/// Walks over the fields of one message. Ends early, with failed() true, at bytes that are no message.
class ProtoReader {
 public:
  struct Field {
    uint32_t number = 0;
    uint64_t value = 0;      // varint and fixed fields
    std::string_view bytes;  // length-delimited fields
    bool is_bytes = false;
    float as_float() const {
      const auto bits = static_cast<uint32_t>(value);
      float out;
      std::memcpy(&out, &bits, 4);
      return out;
    }
  };

  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    uint64_t key = 0;
    Field field;
    if (!varint(key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) return fail();
    field.number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        return varint(field.value) ? std::optional(field) : fail();
      case 1:
        return fixed(8, field.value) ? std::optional(field) : fail();
      case 5:
        return fixed(4, field.value) ? std::optional(field) : fail();
      case 2: {
        uint64_t size = 0;
        if (!varint(size) || size > rest_.size()) return fail();
        field.bytes = rest_.substr(0, size);
        field.is_bytes = true;
        rest_.remove_prefix(size);
        return field;
      }
      default:
        return fail();
    }
  }

  bool failed() const { return failed_; }

 private:
  std::optional<Field> fail() {
    failed_ = true;
    rest_ = {};
    return std::nullopt;
  }
  bool varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      out |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(size_t size, uint64_t& out) {
    if (rest_.size() < size) return false;
    out = 0;
    std::memcpy(&out, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace skua::text
