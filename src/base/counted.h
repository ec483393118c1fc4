// "1 tensor", "2 tensors".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skua {

/// A count and its noun, which takes an s unless the count is one.
inline std::string counted(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace skua
