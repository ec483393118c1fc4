// The byte-level alphabet: one printable character for each of the 256 bytes. Bytes that print in Latin-1
// stand for themselves, the others follow from U+0100 in ascending order. Source: GPT-2 (openai/gpt-2,
// encoder.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skua::text {

/// The character that stands for `byte`, as UTF-8.
std::string_view byte_char(uint8_t byte);

/// The byte that `c` stands for, or -1.
int byte_of_char(char32_t c);

/// The bytes that `spelling` stands for; empty when some character is outside the alphabet.
std::optional<std::string> bytes_of_chars(std::string_view spelling);

/// The byte of a piece spelled <0xNN>, or -1.
int byte_of_hex_piece(std::string_view spelling);

/// "<0xNN>" for `byte`.
std::string hex_piece(uint8_t byte);

}  // namespace skua::text
