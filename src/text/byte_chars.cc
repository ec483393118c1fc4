// Tables of the byte-level alphabet, filled once.
#include "text/byte_chars.h"

#include <array>

#include "text/utf8.h"

namespace skua::text {
namespace {

struct Alphabet {
  std::array<std::string, 256> chars;
  std::array<int16_t, 512> bytes;

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      const char32_t c = printable ? static_cast<char32_t>(b) : next++;
      append_utf8(chars[static_cast<size_t>(b)], c);
      bytes[c] = static_cast<int16_t>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view byte_char(uint8_t byte) { return alphabet().chars[byte]; }

int byte_of_char(char32_t c) { return c < 512 ? alphabet().bytes[c] : -1; }

std::optional<std::string> bytes_of_chars(std::string_view spelling) {
  std::string out;
  for (size_t pos = 0; pos < spelling.size();) {
    const int byte = byte_of_char(next_char(spelling, pos));
    if (byte < 0) return std::nullopt;
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

int byte_of_hex_piece(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return -1;
  const int high = hex_digit(spelling[3]), low = hex_digit(spelling[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string hex_piece(uint8_t byte) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

}  // namespace skua::text
