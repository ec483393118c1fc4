// Cuts templates into tokens. Source of the rules: jinja2 3.1, lexer.py (tokeniter and wrap).
#include "text/jinja/lexer.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// \r\n and \r become \n; one newline at the very end is dropped.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (pos_ < source_.size()) SKUA_RETURN_IF_ERROR(text_and_tag());
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Status error(std::string message) const {
    return invalid_argument("[template] line " + std::to_string(line_) + ": " + message);
  }

  void push(TokenKind kind, std::string value, int base = 10) {
    tokens_.push_back({kind, std::move(value), line_, base});
  }

  bool at(std::string_view text) const { return std::string_view(source_).substr(pos_).starts_with(text); }

  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(pos_),
                                         source_.begin() + static_cast<ptrdiff_t>(to), '\n'));
    pos_ = to;
  }

  static void skip_sign(const std::string& s, size_t& pos, char& sign) {
    sign = pos < s.size() && (s[pos] == '-' || s[pos] == '+') ? s[pos] : '\0';
    if (sign != '\0') ++pos;
  }

  // Text up to the next tag, with the whitespace control of that tag; then the tag.
  Status text_and_tag() {
    size_t tag = pos_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        tag = std::string::npos;
        break;
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    if (tag == std::string::npos) {
      push_text(source_.substr(pos_));
      advance(source_.size());
      return ok_status();
    }
    const char kind = source_[tag + 1];
    size_t after = tag + 2;
    char sign = '\0';
    skip_sign(source_, after, sign);
    push_text(strip_before_tag(source_.substr(pos_, tag - pos_), kind, sign));
    advance(after);
    if (kind == '#') return comment();
    if (kind == '%' && starts_raw()) return raw();
    push(kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    return expression(kind);
  }

  void push_text(std::string text) {
    if (!text.empty()) push(TokenKind::kText, std::move(text));
  }

  std::string strip_before_tag(std::string text, char kind, char sign) const {
    if (sign == '-') {
      while (!text.empty() && ends_with_space(text)) text.resize(text::previous_char(text, text.size()));
      return text;
    }
    if (sign == '+' || kind == '{') return text;
    const size_t newline = text.rfind('\n');
    const size_t line_begin = newline == std::string::npos ? 0 : newline + 1;
    if (line_begin == 0 && !line_starting_) return text;
    for (size_t pos = line_begin; pos < text.size();) {
      if (!text::is_whitespace(text::next_char(text, pos)) && !is_space(text[pos - 1])) return text;
    }
    return text.substr(0, line_begin);
  }

  static bool ends_with_space(const std::string& text) {
    size_t pos = text::previous_char(text, text.size());
    return is_space(text[pos]) || text::is_whitespace(text::next_char(text, pos));
  }

  void skip_space() {
    size_t pos = pos_;
    while (pos < source_.size()) {
      size_t next = pos;
      const char32_t c = text::next_char(source_, next);
      if (!text::is_whitespace(c) && !(c >= 0x1c && c <= 0x1f)) break;
      pos = next;
    }
    advance(pos);
  }

  // Behind a closing tag: '-' swallows whitespace, otherwise a block swallows one newline.
  void after_close(char sign, char kind) {
    const size_t begin = pos_;
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && kind != '{' && at("\n")) {
      advance(pos_ + 1);
    }
    line_starting_ = pos_ > begin ? source_[pos_ - 1] == '\n' : false;
  }

  // Finds SIGN? CLOSE from pos_ on; gives the start and the sign.
  bool find_close(std::string_view close, size_t& begin, char& sign) const {
    const size_t end = source_.find(close, pos_);
    if (end == std::string::npos) return false;
    sign = end > pos_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? source_[end - 1] : '\0';
    begin = end;
    return true;
  }

  Status comment() {
    size_t close = 0;
    char sign = '\0';
    if (!find_close("#}", close, sign)) return error("comment {# is not closed");
    advance(close + 2);
    after_close(sign, '#');
    return ok_status();
  }

  bool starts_raw() const {
    size_t pos = pos_;
    while (pos < source_.size() && is_space(source_[pos])) ++pos;
    if (std::string_view(source_).substr(pos, 3) != "raw") return false;
    pos += 3;
    while (pos < source_.size() && is_space(source_[pos])) ++pos;
    if (pos < source_.size() && source_[pos] == '-') ++pos;
    return std::string_view(source_).substr(pos, 2) == "%}";
  }

  Status raw() {
    size_t close = 0;
    char sign = '\0';
    find_close("%}", close, sign);
    advance(close + 2);
    after_close(sign == '-' ? '-' : '+', '%');  // the newline behind {% raw %} stays
    // {% endraw %} with optional signs and spaces.
    for (size_t tag = source_.find("{%", pos_); tag != std::string::npos; tag = source_.find("{%", tag + 1)) {
      size_t inner = tag + 2;
      char open_sign = '\0';
      skip_sign(source_, inner, open_sign);
      while (inner < source_.size() && is_space(source_[inner])) ++inner;
      if (std::string_view(source_).substr(inner, 6) != "endraw") continue;
      inner += 6;
      while (inner < source_.size() && is_space(source_[inner])) ++inner;
      char close_sign = '\0';
      skip_sign(source_, inner, close_sign);
      if (std::string_view(source_).substr(inner, 2) != "%}") continue;
      push_text(strip_before_tag(source_.substr(pos_, tag - pos_), '%', open_sign));
      advance(inner + 2);
      after_close(close_sign, '%');
      return ok_status();
    }
    return error("raw block is not closed");
  }

  Status expression(char kind) {
    const std::string_view close = kind == '{' ? "}}" : "%}";
    std::string open;  // brackets still open
    while (true) {
      skip_space();
      if (pos_ >= source_.size())
        return error(std::string("tag ") + (kind == '{' ? "{{" : "{%") + " is not closed");
      if (open.empty()) {
        const bool signed_close = (at("-") || (kind == '%' && at("+"))) &&
                                  std::string_view(source_).substr(pos_ + 1).starts_with(close);
        if (signed_close || at(close)) {
          const char sign = signed_close ? source_[pos_] : '\0';
          advance(pos_ + close.size() + (signed_close ? 1 : 0));
          push(kind == '{' ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "");
          after_close(sign, kind);
          return ok_status();
        }
      }
      SKUA_RETURN_IF_ERROR(lexeme(open));
    }
  }

  Status lexeme(std::string& open) {
    const char c = source_[pos_];
    if (c == '"' || c == '\'') return string_literal(c);
    if (is_digit(c)) return number();
    if (name()) return ok_status();
    return operator_sign(open);
  }

  bool name() {
    size_t end = pos_;
    while (end < source_.size()) {
      size_t next = end;
      const char32_t c = text::next_char(source_, next);
      const bool in_name = c < 0x80 ? (is_digit(static_cast<char>(c)) || c == '_' || (c >= 'a' && c <= 'z') ||
                                       (c >= 'A' && c <= 'Z'))
                                    : text::is_word(c);
      if (!in_name) break;
      end = next;
    }
    if (end == pos_) return false;
    push(TokenKind::kName, source_.substr(pos_, end - pos_));
    pos_ = end;
    return true;
  }

  // Digits with single underscores between them.
  size_t digits_end(size_t pos, std::string_view digits) const {
    size_t end = pos;
    while (end < source_.size()) {
      const char lower = static_cast<char>(source_[end] | 0x20);
      if (is_digit(source_[end]) ? digits.find(source_[end]) != std::string_view::npos
                                 : digits.find(lower) != std::string_view::npos) {
        ++end;
      } else if (source_[end] == '_' && end > pos && end + 1 < source_.size() &&
                 digits.find(static_cast<char>(source_[end + 1] | (is_digit(source_[end + 1]) ? 0 : 0x20))) !=
                     std::string_view::npos) {
        ++end;
      } else {
        break;
      }
    }
    return end;
  }

  static std::string without_underscores(std::string text) {
    std::erase(text, '_');
    return text;
  }

  Status number() {
    static constexpr std::string_view kDecimal = "0123456789";
    static constexpr struct {
      std::string_view prefix, digits;
      int base;
    } kBases[] = {{"0b", "01", 2}, {"0o", "01234567", 8}, {"0x", "0123456789abcdef", 16}};
    for (const auto& b : kBases) {
      if (at("0") && pos_ + 1 < source_.size() && (source_[pos_ + 1] | 0x20) == b.prefix[1]) {
        const size_t end = digits_end(pos_ + 2, b.digits);
        if (end == pos_ + 2) break;
        push(TokenKind::kInteger, without_underscores(source_.substr(pos_ + 2, end - pos_ - 2)), b.base);
        pos_ = end;
        return ok_status();
      }
    }
    size_t end = digits_end(pos_, kDecimal);
    bool real = false;
    const bool after_dot = pos_ > 0 && source_[pos_ - 1] == '.';  // x.1.2 has no float in it
    if (!after_dot && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      real = true;
      end = digits_end(end + 1, kDecimal);
    }
    if (!after_dot && end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      const size_t exponent_end = digits_end(exponent, kDecimal);
      if (exponent_end > exponent) {
        real = true;
        end = exponent_end;
      }
    }
    push(real ? TokenKind::kFloat : TokenKind::kInteger,
         without_underscores(source_.substr(pos_, end - pos_)));
    pos_ = end;
    return ok_status();
  }

  Status string_literal(char quote) {
    std::string value;
    size_t pos = pos_ + 1;
    while (pos < source_.size() && source_[pos] != quote) {
      if (source_[pos] != '\\') {
        value += source_[pos++];
        continue;
      }
      if (++pos >= source_.size()) break;
      SKUA_RETURN_IF_ERROR(escape(value, pos));
    }
    if (pos >= source_.size()) return error("string is not closed");
    push(TokenKind::kString, std::move(value));
    advance(pos + 1);
    return ok_status();
  }

  // The character after a backslash, as Python's unicode-escape reads it.
  Status escape(std::string& value, size_t& pos) {
    const char c = source_[pos];
    static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t plain = kFrom.find(c); plain != std::string_view::npos) {
      value += kTo[plain];
      ++pos;
      return ok_status();
    }
    if (c == '\n') {
      ++pos;
      return ok_status();
    }
    if (c == 'x' || c == 'u' || c == 'U') return hex_escape(value, pos, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      for (int n = 0; n < 3 && pos < source_.size() && source_[pos] >= '0' && source_[pos] <= '7'; ++n) {
        code = code * 8 + static_cast<char32_t>(source_[pos++] - '0');
      }
      text::append_utf8(value, code);
      return ok_status();
    }
    if (c == 'N') return error("string escape \\N is not supported");
    value += '\\';
    return ok_status();
  }

  Status hex_escape(std::string& value, size_t& pos, int n_digits) {
    char32_t code = 0;
    ++pos;
    for (int n = 0; n < n_digits; ++n, ++pos) {
      const char c = pos < source_.size() ? static_cast<char>(source_[pos] | 0x20) : ' ';
      const bool digit = pos < source_.size() && is_digit(source_[pos]);
      if (!digit && !(c >= 'a' && c <= 'f')) return error("string escape with too few hexadecimal digits");
      code = code * 16 + static_cast<char32_t>(digit ? source_[pos] - '0' : c - 'a' + 10);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return error("string escape of no character");
    text::append_utf8(value, code);
    return ok_status();
  }

  Status operator_sign(std::string& open) {
    static constexpr std::string_view kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                  "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                  "=",  ">",  "<",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view sign : kSigns) {
      if (!at(sign)) continue;
      const char c = sign[0];
      if (sign == "(" || sign == "[" || sign == "{") open += c;
      if (sign == ")" || sign == "]" || sign == "}") {
        const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.empty() || open.back() != wanted) return error("unexpected '" + std::string(sign) + "'");
        open.pop_back();
      }
      push(TokenKind::kOperator, std::string(sign));
      pos_ += sign.size();
      return ok_status();
    }
    size_t next = pos_;
    text::next_char(source_, next);
    return error("unexpected character '" + source_.substr(pos_, next - pos_) + "'");
  }

  std::string source_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (source.size() > kMaxSourceBytes) return invalid_argument("[template] source is longer than 1 MiB");
  if (!text::is_valid_utf8(source)) return invalid_argument("[template] source is not valid UTF-8");
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace skua::jinja
