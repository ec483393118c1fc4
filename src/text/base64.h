// Base64 (RFC 4648), decoding only.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace skua::text {

/// Errors: kInvalidArgument (a character outside the alphabet). Padding may be missing.
inline Result<std::string> decode_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int n_bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return invalid_argument("[tokenizer] text is not base64");
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xffffff;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out.push_back(static_cast<char>(bits >> n_bits & 0xff));
  }
  return out;
}

}  // namespace skua::text
