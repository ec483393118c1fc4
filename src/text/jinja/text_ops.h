// Text work that filters and string methods share, with Python's meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skua::jinja {

std::string lower_text(std::string_view text);
std::string upper_text(std::string_view text);
std::string fold_text(std::string_view text);  // str.casefold()
std::string title_text(std::string_view text);
std::string capitalize_text(std::string_view text);
bool is_lower_text(std::string_view text);  // some cased character, none of them upper case
bool is_upper_text(std::string_view text);

/// The first place of `part` at or behind `from`, the last place, the number of places side by side: in time
/// that grows with the length of the text only, whatever the part (a template is untrusted).
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);
size_t rfind_text(std::string_view text, std::string_view part);
int64_t count_text(std::string_view text, std::string_view part);

enum class Side : uint8_t { kLeft, kRight, kBoth };
/// `chars` empty: whitespace.
std::string strip_text(std::string_view text, std::string_view chars, Side side);

/// str.split(): at runs of whitespace, or at `separator`; at most `limit` cuts (-1: no limit).
std::vector<std::string> split_text(std::string_view text, const std::string* separator, int64_t limit);
std::vector<std::string> rsplit_text(std::string_view text, const std::string* separator, int64_t limit);
enum class KeepEnds : uint8_t { kNo, kYes };
std::vector<std::string> split_lines(std::string_view text, KeepEnds keep);

/// str.replace(); at most `limit` times (-1: no limit).
std::string replace_text(std::string_view text, std::string_view from, std::string_view to, int64_t limit);

/// Pads to `width` characters.
std::string pad_text(std::string_view text, int64_t width, std::string_view fill, Side text_side);
std::string center_text(std::string_view text, int64_t width, std::string_view fill);

/// str.isspace() of one character; also what \s is to Python's expressions.
bool is_python_space(char32_t c);

std::string escape_html(std::string_view text);

}  // namespace skua::jinja
