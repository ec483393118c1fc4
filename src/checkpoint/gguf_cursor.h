// Inside src/checkpoint: reads a GGUF file front to back and never past its end.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "checkpoint/gguf.h"

namespace skua {

static_assert(std::endian::native == std::endian::little,
              "files hold little-endian numbers and are read in place");

/// Each take_ function returns false, and moves nowhere, when the bytes are not there.
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> file) : file_(file) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return file_.size() - position_; }

  template <typename T>
  bool take(T& out) {
    if (left() < sizeof(T)) return false;
    std::memcpy(&out, file_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  bool take_bytes(uint64_t n, std::span<const std::byte>& out) {
    if (left() < n) return false;
    out = file_.subspan(position_, n);
    position_ += n;
    return true;
  }

  /// A string with its 64-bit length before it.
  bool take_string(std::string_view& out) {
    uint64_t size = 0;
    std::span<const std::byte> bytes;
    const uint64_t start = position_;
    if (take(size) && take_bytes(size, bytes)) {
      out = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      return true;
    }
    position_ = start;
    return false;
  }

 private:
  std::span<const std::byte> file_;
  uint64_t position_ = 0;
};

/// Bytes of a scalar, or 0 for strings, arrays and unknown types.
uint64_t gguf_scalar_bytes(GgufType type);

/// Reads `count` key-value pairs into the header. Errors: kDataLoss, kUnsupported.
Status read_gguf_metadata(GgufCursor& cursor, uint64_t count, GgufHeader& header);

}  // namespace skua
