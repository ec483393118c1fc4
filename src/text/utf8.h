// UTF-8, one character at a time. The text handed to these functions is valid UTF-8 unless they say
// otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skua::text {

/// True when `bytes` is UTF-8 without overlong forms, surrogates or values above U+10FFFF.
bool is_valid_utf8(std::string_view bytes);

/// Bytes of the character that starts with `lead`, of valid UTF-8.
inline size_t utf8_length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

inline bool is_utf8_continuation(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

/// The character at `pos` of valid UTF-8; `pos` moves behind it.
inline char32_t next_char(std::string_view text, size_t& pos) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(pos);
  if (lead < 0x80) return text[pos++];
  if (lead < 0xe0) {
    const char32_t c = (char32_t{lead} & 0x1f) << 6 | (at(pos + 1) & 0x3fU);
    pos += 2;
    return c;
  }
  if (lead < 0xf0) {
    const char32_t c = (char32_t{lead} & 0x0f) << 12 | (at(pos + 1) & 0x3fU) << 6 | (at(pos + 2) & 0x3fU);
    pos += 3;
    return c;
  }
  const char32_t c = (char32_t{lead} & 0x07) << 18 | (at(pos + 1) & 0x3fU) << 12 |
                     (at(pos + 2) & 0x3fU) << 6 | (at(pos + 3) & 0x3fU);
  pos += 4;
  return c;
}

/// Start of the character before `pos` (> 0) of valid UTF-8.
inline size_t previous_char(std::string_view text, size_t pos) {
  do {
    --pos;
  } while (pos > 0 && is_utf8_continuation(text[pos]));
  return pos;
}

void append_utf8(std::string& out, char32_t c);
std::u32string to_utf32(std::string_view text);
std::string to_utf8(std::u32string_view text);
size_t count_chars(std::string_view text);

/// Length of the longest start of `bytes` that may be decoded now: all but an unfinished last character.
/// Bytes that can never become a character count as finished.
size_t complete_utf8_prefix(std::string_view bytes);

/// Appends `bytes` with every ill-formed part replaced by U+FFFD, one per maximal subpart (Unicode 15, 3.9;
/// the rule of Rust's from_utf8_lossy and of Python's errors="replace").
void append_lossy(std::string& out, std::string_view bytes);

}  // namespace skua::text
