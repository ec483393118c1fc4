// Character properties and normal forms, from ICU. ICU's headers stay in unicode.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skua::text {

bool is_whitespace(char32_t c);       // White_Space
bool is_word(char32_t c);             // \w of UTS 18: Alphabetic, M, Nd, Pc, Join_Control
bool is_numeric(char32_t c);          // N
bool is_punctuation(char32_t c);      // P
bool is_control(char32_t c);          // Cc, Cf, Co
bool is_unassigned(char32_t c);       // Cn
bool is_nonspacing_mark(char32_t c);  // Mn
bool is_mark(char32_t c);             // M
char32_t to_lower_simple(char32_t c);
/// Full lower case of one character (U+0130 gives two), without context.
void append_lower(std::u32string& out, char32_t c);

/// Full case mapping of a text, with context (final sigma), in no particular language.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);
std::string fold_case(std::string_view text);
/// Full title case of one character.
void append_title(std::string& out, char32_t c);
bool is_cased(char32_t c);
bool is_upper_case(char32_t c);     // Uppercase
bool is_lower_case(char32_t c);     // Lowercase
bool is_letter(char32_t c);         // L
bool is_decimal_digit(char32_t c);  // Nd
bool is_case_ignorable(char32_t c);
bool has_digit_value(char32_t c);    // Numeric_Type Decimal or Digit: superscripts too
bool has_numeric_value(char32_t c);  // any Numeric_Type: fractions and CJK numbers too
int decimal_value(char32_t c);       // 0 to 9 of a decimal digit of any script, or -1

enum class NormalForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// True when `c` is unchanged by the form whatever stands beside it.
bool is_inert(NormalForm form, char32_t c);

/// Full canonical (kNfd, kNfc) or compatibility decomposition of one character; {c} when it has none.
void append_decomposition(std::u32string& out, NormalForm form, char32_t c);
uint8_t combining_class(char32_t c);
/// The primary composite of two characters, or 0.
char32_t compose_pair(char32_t a, char32_t b);

/// Number of the script of `c`; see unicode_scripts.cc for the use.
int32_t script_code(char32_t c);

/// Length in bytes of the grapheme cluster at `pos`.
size_t grapheme_length(std::string_view text, size_t pos);

}  // namespace skua::text
