// Python's str() and repr() of values.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "text/jinja/value.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

void append_hex(std::string& out, char32_t c, int width) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) out += kDigits[c >> shift & 15];
}

bool printable(char32_t c) {
  return c == U' ' || !(text::is_control(c) || text::is_unassigned(c) || text::is_whitespace(c));
}

void append_string_repr(std::string& out, const std::string& s) {
  const bool double_quotes = s.find('\'') != std::string::npos && s.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  out += quote;
  for (size_t pos = 0; pos < s.size();) {
    const size_t begin = pos;
    const char32_t c = text::next_char(s, pos);
    if (c == static_cast<char32_t>(quote) || c == U'\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == U'\n') {
      out += "\\n";
    } else if (c == U'\r') {
      out += "\\r";
    } else if (c == U'\t') {
      out += "\\t";
    } else if (printable(c)) {
      out.append(s, begin, pos - begin);
    } else if (c < 0x100) {
      out += "\\x";
      append_hex(out, c, 2);
    } else if (c < 0x10000) {
      out += "\\u";
      append_hex(out, c, 4);
    } else {
      out += "\\U";
      append_hex(out, c, 8);
    }
  }
  out += quote;
}

void append_repr(std::string& out, const Value& v);

void append_list(std::string& out, const std::vector<Value>& items, std::string_view open,
                 std::string_view close) {
  out += open;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, items[i]);
  }
  out += close;
}

void append_sequence(std::string& out, const Sequence& sequence) {
  switch (sequence.flavor) {
    case Flavor::kTuple:
    case Flavor::kGroup:
      append_list(out, sequence.items, "(", sequence.items.size() == 1 ? ",)" : ")");
      break;
    case Flavor::kList:
      append_list(out, sequence.items, "[", "]");
      break;
    case Flavor::kDictKeys:
      append_list(out, sequence.items, "dict_keys([", "])");
      break;
    case Flavor::kDictValues:
      append_list(out, sequence.items, "dict_values([", "])");
      break;
    case Flavor::kDictItems:
      append_list(out, sequence.items, "dict_items([", "])");
      break;
    case Flavor::kGenerator:
      out += "<generator object>";
      break;
    case Flavor::kRange:
      out += sequence.shown;
      break;
  }
}

void append_repr(std::string& out, const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kUndefined:
      out += "Undefined";
      break;
    case Value::Kind::kString:
      if (v.is_escaped()) out += "Markup(";
      append_string_repr(out, v.as_string());
      if (v.is_escaped()) out += ')';
      break;
    case Value::Kind::kSequence:
      append_sequence(out, v.as_sequence());
      break;
    case Value::Kind::kDict: {
      out += '{';
      bool first = true;
      for (const auto& [key, value] : v.as_dict().items) {
        if (!first) out += ", ";
        first = false;
        append_repr(out, key);
        out += ": ";
        append_repr(out, value);
      }
      out += '}';
      break;
    }
    case Value::Kind::kObject:
      out += v.as_object().repr();
      break;
    default:
      out += to_text(v);
  }
}

}  // namespace

std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto made = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(made.ptr - buffer));
  // Shortest digits, then Python's choice of notation: exponent below -4 or from 16 on.
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t sign = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + sign, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    std::string out(text.substr(0, e));
    out += exponent < 0 ? "e-" : "e+";
    const int magnitude = std::abs(exponent);
    if (magnitude < 10) out += '0';
    return out + std::to_string(magnitude);
  }
  char fixed[400];
  const auto end = std::to_chars(fixed, fixed + sizeof fixed, v, std::chars_format::fixed);
  std::string out(fixed, static_cast<size_t>(end.ptr - fixed));
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string_view type_name(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kUndefined:
      return "Undefined";
    case Value::Kind::kNone:
      return "NoneType";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
      return "int";
    case Value::Kind::kFloat:
      return "float";
    case Value::Kind::kString:
      return "str";
    case Value::Kind::kDict:
      return "dict";
    case Value::Kind::kObject:
      return v.as_object().type_name();
    case Value::Kind::kSequence:
      break;
  }
  switch (v.as_sequence().flavor) {
    case Flavor::kList:
      return "list";
    case Flavor::kTuple:
    case Flavor::kGroup:
      return "tuple";
    case Flavor::kGenerator:
      return "generator";
    case Flavor::kRange:
      return "range";
    case Flavor::kDictKeys:
      return "dict_keys";
    case Flavor::kDictValues:
      return "dict_values";
    case Flavor::kDictItems:
      return "dict_items";
  }
  return "object";
}

std::string to_text(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kUndefined:
      return "";
    case Value::Kind::kNone:
      return "None";
    case Value::Kind::kBool:
      return v.as_int() != 0 ? "True" : "False";
    case Value::Kind::kInt:
      return std::to_string(v.as_int());
    case Value::Kind::kFloat:
      return float_text(v.as_double());
    case Value::Kind::kString:
      return v.as_string();
    default: {
      std::string out;
      append_repr(out, v);
      return out;
    }
  }
}

double parse_real(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  // from_chars leaves the value alone where it is out of range; strtod gives infinity or zero.
  if (std::from_chars(text.data(), end, value).ec == std::errc::result_out_of_range)
    value = std::strtod(text.c_str(), nullptr);
  return value;
}

std::string to_repr(const Value& v) {
  std::string out;
  append_repr(out, v);
  return out;
}

}  // namespace skua::jinja
