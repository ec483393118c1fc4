// Python's text functions on UTF-8.
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <cstring>

#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

bool is_space(char32_t c) { return text::is_whitespace(c) || (c >= 0x1c && c <= 0x1f); }

size_t char_count(std::string_view text) { return text::count_chars(text); }

std::string repeat(std::string_view fill, int64_t n) {
  std::string out;
  for (int64_t i = 0; i < n; ++i) out += fill;
  return out;
}

// Pieces between runs of whitespace, from the left; the rest after `limit` cuts stays whole.
std::vector<std::string> split_space(std::string_view text, int64_t limit) {
  std::vector<std::string> out;
  size_t pos = 0;
  const auto skip = [&] {
    while (pos < text.size()) {
      size_t next = pos;
      if (!is_space(text::next_char(text, next))) break;
      pos = next;
    }
  };
  for (skip(); pos < text.size(); skip()) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(strip_text(text.substr(pos), "", Side::kRight));
      break;
    }
    const size_t begin = pos;
    while (pos < text.size()) {
      size_t next = pos;
      if (is_space(text::next_char(text, next))) break;
      pos = next;
    }
    out.emplace_back(text.substr(begin, pos - begin));
  }
  return out;
}

std::vector<std::string> rsplit_space(std::string_view text, int64_t limit) {
  std::vector<std::string> out;
  size_t end = text.size();
  const auto space_before = [&](size_t at) {
    size_t pos = text::previous_char(text, at);
    return is_space(text::next_char(text, pos));
  };
  while (true) {
    while (end > 0 && space_before(end)) end = text::previous_char(text, end);
    if (end == 0) break;
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(strip_text(text.substr(0, end), "", Side::kLeft));
      break;
    }
    const size_t stop = end;
    while (end > 0 && !space_before(end)) end = text::previous_char(text, end);
    out.emplace_back(text.substr(end, stop - end));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t rfind_text(std::string_view text, std::string_view part) {
  if (part.size() < 16) return text.rfind(part);
  const std::string turned(text.rbegin(), text.rend()), wanted(part.rbegin(), part.rend());
  const size_t at = find_text(turned, wanted, 0);
  return at == std::string_view::npos ? at : text.size() - at - part.size();
}

int64_t count_text(std::string_view text, std::string_view part) {
  int64_t n = 0;
  for (size_t at = 0; (at = find_text(text, part, at)) != std::string_view::npos; at += part.size()) ++n;
  return n;
}

std::string lower_text(std::string_view text) { return text::lower_case(text); }
std::string fold_text(std::string_view text) { return text::fold_case(text); }
std::string upper_text(std::string_view text) { return text::upper_case(text); }

// Whether the capital sigma that ends at `pos`, inside a word, is the last letter of it.
static bool is_final_sigma(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    const char32_t c = text::next_char(text, pos);
    if (!text::is_case_ignorable(c)) return !text::is_cased(c);
  }
  return true;
}

std::string title_text(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = text::next_char(text, pos);
    if (!in_word) {
      text::append_title(out, c);
    } else if (c == U'\u03a3') {
      out += is_final_sigma(text, pos) ? "ς" : "σ";
    } else {
      std::u32string lowered;
      text::append_lower(lowered, c);
      out += text::to_utf8(lowered);
    }
    in_word = text::is_cased(c);
  }
  return out;
}

std::string capitalize_text(std::string_view text) {
  if (text.empty()) return "";
  size_t pos = 0;
  std::string out;
  text::append_title(out, text::next_char(text, pos));
  // All of the text is lowered, since a sigma looks at what stands before it.
  return out + lower_text(text).substr(lower_text(text.substr(0, pos)).size());
}

bool is_lower_text(std::string_view text) {
  bool cased = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = text::next_char(text, pos);
    if (text::is_upper_case(c)) return false;
    cased = cased || text::is_lower_case(c);
  }
  return cased;
}

bool is_upper_text(std::string_view text) {
  bool cased = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = text::next_char(text, pos);
    if (text::is_lower_case(c)) return false;
    cased = cased || text::is_upper_case(c);
  }
  return cased;
}

std::string strip_text(std::string_view text, std::string_view chars, Side side) {
  const std::u32string set = text::to_utf32(chars);
  const auto strips = [&](char32_t c) {
    return set.empty() ? is_space(c) : set.find(c) != std::u32string::npos;
  };
  while (side != Side::kRight && !text.empty()) {
    size_t pos = 0;
    if (!strips(text::next_char(text, pos))) break;
    text.remove_prefix(pos);
  }
  while (side != Side::kLeft && !text.empty()) {
    const size_t before = text::previous_char(text, text.size());
    size_t pos = before;
    if (!strips(text::next_char(text, pos))) break;
    text = text.substr(0, before);
  }
  return std::string(text);
}

std::vector<std::string> split_text(std::string_view text, const std::string* separator, int64_t limit) {
  if (separator == nullptr) return split_space(text, limit);
  std::vector<std::string> out;
  size_t last = 0;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    const size_t at = find_text(text, *separator, last);
    if (at == std::string_view::npos) break;
    out.emplace_back(text.substr(last, at - last));
    last = at + separator->size();
  }
  out.emplace_back(text.substr(last));
  return out;
}

std::vector<std::string> rsplit_text(std::string_view text, const std::string* separator, int64_t limit) {
  if (separator == nullptr) return rsplit_space(text, limit);
  std::vector<std::string> out;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    const size_t at = rfind_text(text, *separator);
    if (at == std::string_view::npos) break;
    out.emplace_back(text.substr(at + separator->size()));
    text = text.substr(0, at);
  }
  out.emplace_back(text);
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string> split_lines(std::string_view text, KeepEnds keep) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t at = pos;
    const char32_t c = text::next_char(text, pos);
    if (!is_line_end(c)) continue;
    if (c == U'\r' && pos < text.size() && text[pos] == '\n') ++pos;
    out.emplace_back(text.substr(begin, (keep == KeepEnds::kYes ? pos : at) - begin));
    begin = pos;
  }
  if (begin < text.size()) out.emplace_back(text.substr(begin));
  return out;
}

std::string replace_text(std::string_view text, std::string_view from, std::string_view to, int64_t limit) {
  std::string out;
  int64_t n = 0;
  size_t last = 0;
  if (from.empty()) {  // between all characters
    for (size_t pos = 0; limit < 0 || n < limit; ++n) {
      out.append(to);
      if (pos >= text.size()) return out;
      const size_t length = text::utf8_length(text[pos]);
      out.append(text.substr(pos, length));
      last = pos += length;
    }
    return out.append(text.substr(last));
  }
  for (size_t at; (limit < 0 || n < limit) && (at = find_text(text, from, last)) != std::string_view::npos;
       ++n) {
    out.append(text.substr(last, at - last));
    out.append(to);
    last = at + from.size();
  }
  return out.append(text.substr(last));
}

std::string pad_text(std::string_view text, int64_t width, std::string_view fill, Side text_side) {
  const int64_t missing = width - static_cast<int64_t>(char_count(text));
  const std::string pad = repeat(fill, std::max<int64_t>(missing, 0));
  return text_side == Side::kLeft ? std::string(text) + pad : pad + std::string(text);
}

std::string center_text(std::string_view text, int64_t width, std::string_view fill) {
  const int64_t missing = width - static_cast<int64_t>(char_count(text));
  if (missing <= 0) return std::string(text);
  // CPython gives the odd space to the left when both the padding and the width are odd.
  const int64_t left = missing / 2 + (missing & width & 1);
  return repeat(fill, left) + std::string(text) + repeat(fill, missing - left);
}

bool is_python_space(char32_t c) { return text::is_whitespace(c) || (c >= 0x1c && c <= 0x1f); }

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace skua::jinja
