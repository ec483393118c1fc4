// Character properties exactly as HF tokenizers 0.23 sees them. Its tables differ from ICU's on characters
// that are newer than one of the two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skua::text {

bool hf_is_combining_mark(char32_t c);   // StripAccents
bool hf_is_nonspacing_mark(char32_t c);  // BertNormalizer
bool hf_is_control(char32_t c);          // BertNormalizer
bool hf_is_punctuation(char32_t c);      // BertPreTokenizer, Punctuation
bool hf_is_numeric(char32_t c);          // Digits
bool hf_is_word(char32_t c);             // Whitespace, single-word added tokens
bool hf_decomposes(char32_t c);          // NFD, NFKD and their composed forms
uint8_t hf_combining_class(char32_t c);
void hf_append_lower(std::u32string& out, char32_t c);

bool hf_has_script(char32_t c);  // UnicodeScripts; characters without one go with what is before them
/// `c`, or for a character newer than ICU's tables another of the same category.
char32_t hf_stand_in(char32_t c);

/// Puts into `out` a copy of `text` in which characters that PCRE2 does not know are replaced by others of
/// the same category and length. False (and `out` untouched) when there are none.
bool replace_newer_characters(std::string_view text, std::string& out);

}  // namespace skua::text
