// Python's two ways of formatting: 'text' % values, and 'text'.format(values).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;

struct Spec {
  std::string fill = " ";
  char align = '\0';
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char group = '\0';  // ',' or '_'
  int64_t precision = -1;
  char type = '\0';
};

// Digits at `pos` as a number, bounded.
Result<int64_t> read_number(std::string_view text, size_t& pos) {
  int64_t out = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos) {
    out = out * 10 + (text[pos] - '0');
    if (out > kMaxWidth) return type_error("width or precision is too large");
  }
  return out;
}

std::string printf_double(char type, int64_t precision, bool alternate, double v) {
  char format[16], buffer[70000];
  std::snprintf(format, sizeof format, alternate ? "%%#.*%c" : "%%.*%c", type);
  const int n = std::snprintf(buffer, sizeof buffer, format, static_cast<int>(precision), v);
  return std::string(buffer, static_cast<size_t>(std::clamp<int>(n, 0, sizeof buffer - 1)));
}

std::string digits_of(uint64_t v, unsigned base, bool upper) {
  std::string out;
  do {
    const unsigned digit = static_cast<unsigned>(v % base);
    out += static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    v /= base;
  } while (v != 0);
  std::reverse(out.begin(), out.end());
  return out;
}

std::string grouped(const std::string& digits, char separator, size_t every) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

// Magnitude of a number by type, without its sign; `negative` is set.
Result<std::string> number_digits(const Value& v, Spec spec, bool& negative, std::string& prefix) {
  static constexpr std::string_view kIntTypes = "dioxXbn";
  const bool as_int =
      v.is_integral() && (spec.type == '\0' || kIntTypes.find(spec.type) != std::string_view::npos);
  if (as_int) {
    const int64_t i = v.as_int();
    negative = i < 0;
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
    const bool hex = (spec.type | 0x20) == 'x';
    const unsigned base = hex ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
    if (spec.alternate && base != 10) prefix = std::string("0") + (spec.type == 'o' ? 'o' : spec.type);
    return digits_of(magnitude, base, spec.type == 'X');
  }
  const double d = v.as_double();
  negative = std::signbit(d) && !std::isnan(d);
  const double magnitude = std::fabs(d);
  if (std::isnan(d) || std::isinf(d)) return std::string(std::isnan(d) ? "nan" : "inf");
  if (spec.type == '%')
    return printf_double('f', spec.precision < 0 ? 6 : spec.precision, false, magnitude * 100) + "%";
  if (spec.type == '\0') {
    if (spec.precision < 0) return float_text(magnitude);
    std::string out = printf_double('g', std::max<int64_t>(spec.precision, 1), false, magnitude);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
  }
  static constexpr std::string_view kFloatTypes = "eEfFgG";
  const char type = spec.type == 'n' ? 'g' : spec.type;
  if (kFloatTypes.find(type) == std::string_view::npos) {
    return type_error(std::string("unknown format code '") + spec.type + "' for a float");
  }
  return printf_double(type, spec.precision < 0 ? 6 : spec.precision, spec.alternate, magnitude);
}

std::string pad(const std::string& body, const Spec& spec, char align) {
  const int64_t missing = spec.width - static_cast<int64_t>(text::count_chars(body));
  if (missing <= 0) return body;
  const int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += spec.fill;
  out += body;
  for (int64_t i = left; i < missing; ++i) out += spec.fill;
  return out;
}

Result<std::string> format_number(const Value& v, const Spec& spec) {
  bool negative = false;
  std::string prefix;
  SKUA_ASSIGN_OR_RETURN(std::string digits, number_digits(v, spec, negative, prefix));
  if (spec.group != '\0') digits = grouped(digits, spec.group, prefix.empty() ? 3 : 4);
  const std::string sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  const char align = spec.align != '\0' ? spec.align : spec.zero ? '=' : '>';
  if (align != '=') return pad(sign + prefix + digits, spec, align);
  Spec inner = spec;
  if (spec.zero && spec.align == '\0') inner.fill = "0";
  inner.width = spec.width - static_cast<int64_t>(sign.size() + prefix.size());
  return sign + prefix + pad(digits, inner, '>');
}

Result<std::string> format_text(std::string text, const Spec& spec) {
  if (spec.precision >= 0) {
    size_t pos = 0;
    for (int64_t n = 0; n < spec.precision && pos < text.size(); ++n) pos += text::utf8_length(text[pos]);
    text.resize(pos);
  }
  return pad(text, spec, spec.align == '\0' ? '<' : spec.align);
}

// ---- % ----

struct PercentArgs {
  const Value& args;
  size_t used = 0;

  bool is_tuple() const { return args.has_flavor(Flavor::kTuple); }
  Result<Value> next() {
    if (is_tuple()) {
      const auto& items = args.as_sequence().items;
      if (used >= items.size()) return type_error("not enough arguments for format string");
      return items[used++];
    }
    if (used++ > 0) return type_error("not enough arguments for format string");
    return args;
  }
};

// Python's ascii(): repr() with everything beyond ASCII escaped.
std::string ascii_repr(const Value& v) {
  const std::string repr = to_repr(v);
  std::string out;
  for (size_t pos = 0; pos < repr.size();) {
    const char32_t c = text::next_char(repr, pos);
    if (c < 0x80) {
      out += static_cast<char>(c);
      continue;
    }
    char digits[16];
    std::snprintf(digits, sizeof digits,
                  c < 0x100     ? "\\x%02x"
                  : c < 0x10000 ? "\\u%04x"
                                : "\\U%08x",
                  static_cast<unsigned>(c));
    out += digits;
  }
  return out;
}

Result<std::string> percent_value(Runtime& runtime, const Value& v, Spec spec) {
  switch (spec.type) {
    case 's': {
      SKUA_ASSIGN_OR_RETURN(std::string text, runtime.text_of(v));
      if (spec.align == '\0') spec.align = '>';
      return format_text(std::move(text), spec);
    }
    case 'a':
    case 'r': {
      if (v.weight() > kMaxWeight) return resource_exhausted("a value is too large to print");
      if (spec.align == '\0') spec.align = '>';
      return format_text(spec.type == 'a' ? ascii_repr(v) : to_repr(v), spec);
    }
    case 'c': {
      std::string text = v.is_string() ? v.as_string() : "";
      if (v.is_integral() && v.as_int() >= 0 && v.as_int() <= 0x10ffff) {
        text::append_utf8(text, static_cast<char32_t>(v.as_int()));
      }
      if (text::count_chars(text) != 1) return type_error("%c requires int or char");
      if (spec.align == '\0') spec.align = '>';
      return format_text(std::move(text), spec);
    }
    default:
      break;
  }
  static constexpr std::string_view kKnown = "diuoxXeEfFgG";
  if (kKnown.find(spec.type) == std::string_view::npos) {
    return type_error(std::string("unsupported format character '") + spec.type + "'");
  }
  if (!v.is_number()) return type_error("% format: a number is required, not " + std::string(type_name(v)));
  const bool integer = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
  if (!integer) return format_number(v, spec);
  spec.type = 'd';
  if (v.is_integral()) return format_number(v, spec);
  if (!std::isfinite(v.as_double()) || std::fabs(v.as_double()) > 9e18)
    return type_error("cannot convert float to integer");
  return format_number(Value::integer(static_cast<int64_t>(v.as_double())), spec);
}

// Reads what follows a '%' up to its type.
Result<Spec> percent_spec(std::string_view format, size_t& pos, PercentArgs& args) {
  Spec spec;
  for (; pos < format.size(); ++pos) {
    const char c = format[pos];
    if (c == '-') {
      spec.align = '<';
    } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
      spec.sign = c;
    } else if (c == '0') {
      spec.zero = true;
    } else if (c == '#') {
      spec.alternate = true;
    } else if (c != ' ') {
      break;
    }
  }
  const auto number = [&]() -> Result<int64_t> {
    if (pos >= format.size() || format[pos] != '*') return read_number(format, pos);
    ++pos;
    SKUA_ASSIGN_OR_RETURN(const Value v, args.next());
    if (!v.is_integral() || v.as_int() > kMaxWidth || v.as_int() < 0)
      return type_error("* wants a small int");
    return v.as_int();
  };
  SKUA_ASSIGN_OR_RETURN(spec.width, number());
  if (pos < format.size() && format[pos] == '.') {
    ++pos;
    SKUA_ASSIGN_OR_RETURN(spec.precision, number());
  }
  while (pos < format.size() && (format[pos] == 'h' || format[pos] == 'l' || format[pos] == 'L')) ++pos;
  if (pos >= format.size()) return type_error("incomplete format");
  spec.type = format[pos++];
  return spec;
}

}  // namespace

Result<std::string> format_percent(Runtime& runtime, const std::string& format, const Value& args) {
  std::string out;
  PercentArgs source{args};
  bool named = false;
  for (size_t pos = 0; pos < format.size();) {
    if (format[pos] != '%') {
      out += format[pos++];
      continue;
    }
    if (++pos < format.size() && format[pos] == '%') {
      out += '%';
      ++pos;
      continue;
    }
    std::optional<Value> by_name;
    if (pos < format.size() && format[pos] == '(') {
      const size_t close = format.find(')', pos);
      if (close == std::string::npos || !args.is_dict()) return type_error("format requires a mapping");
      const Value* found = args.as_dict().find(std::string_view(format).substr(pos + 1, close - pos - 1));
      if (found == nullptr) return type_error("key missing in format mapping");
      by_name = *found;
      named = true;
      pos = close + 1;
    }
    SKUA_ASSIGN_OR_RETURN(const Spec spec, percent_spec(format, pos, source));
    Value v;
    if (by_name) {
      v = *by_name;
    } else {
      SKUA_ASSIGN_OR_RETURN(v, source.next());
    }
    SKUA_ASSIGN_OR_RETURN(const std::string text, percent_value(runtime, v, spec));
    SKUA_RETURN_IF_ERROR(runtime.charge(text.size()));
    out += text;
  }
  const bool left_over =
      source.is_tuple() ? source.used < args.as_sequence().items.size()
                        : source.used == 0 && !named && !args.is_dict() && !args.has_flavor(Flavor::kList);
  if (left_over) return type_error("not all arguments converted during string formatting");
  return out;
}

// ---- format() ----

namespace {

Result<Spec> brace_spec(std::string_view text) {
  Spec spec;
  size_t pos = 0;
  static constexpr std::string_view kAligns = "<>=^";
  if (!text.empty()) {
    const size_t length = text::utf8_length(text[0]);
    if (length < text.size() && kAligns.find(text[length]) != std::string_view::npos) {
      spec.fill = text.substr(0, length);
      spec.align = text[length];
      pos = length + 1;
    } else if (kAligns.find(text[0]) != std::string_view::npos) {
      spec.align = text[0];
      pos = 1;
    }
  }
  const auto at = [&](char c) { return pos < text.size() && text[pos] == c; };
  if (at('+') || at('-') || at(' ')) spec.sign = text[pos++];
  if (at('#')) spec.alternate = (++pos, true);
  if (at('0')) spec.zero = (++pos, true);
  SKUA_ASSIGN_OR_RETURN(spec.width, read_number(text, pos));
  if (at(',') || at('_')) spec.group = text[pos++];
  if (at('.')) {
    ++pos;
    SKUA_ASSIGN_OR_RETURN(spec.precision, read_number(text, pos));
  }
  if (pos < text.size()) spec.type = text[pos++];
  if (pos != text.size()) return type_error("Invalid format specifier");
  return spec;
}

Result<std::string> format_value(Runtime& runtime, const Value& v, std::string_view spec_text) {
  if (spec_text.empty()) return runtime.text_of(v);
  SKUA_ASSIGN_OR_RETURN(const Spec spec, brace_spec(spec_text));
  if (v.is_number()) {
    if (spec.type == 's') return type_error("Unknown format code 's' for a number");
    return format_number(v, spec);
  }
  if (!v.is_string()) return type_error("unsupported format string for this type");
  if (spec.type != '\0' && spec.type != 's') return type_error("Unknown format code for a string");
  return format_text(to_text(v), spec);
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, Args& args) : runtime_(runtime), args_(args) {}

  Result<std::string> run(std::string_view format, int depth) {
    if (depth > 2) return type_error("Max string recursion exceeded");
    std::string out;
    for (size_t pos = 0; pos < format.size();) {
      const char c = format[pos];
      const bool doubled = pos + 1 < format.size() && format[pos + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        out += c;
        pos += 2;
      } else if (c == '}') {
        return type_error("Single '}' encountered in format string");
      } else if (c == '{') {
        SKUA_ASSIGN_OR_RETURN(const std::string text, field(format, pos, depth));
        SKUA_RETURN_IF_ERROR(runtime_.charge(text.size()));
        out += text;
      } else {
        out += c;
        ++pos;
      }
    }
    return out;
  }

 private:
  Result<std::string> field(std::string_view format, size_t& pos, int depth) {
    size_t end = ++pos;
    for (int open = 1; end < format.size(); ++end) {
      if (format[end] == '{') ++open;
      if (format[end] == '}' && --open == 0) break;
    }
    if (end >= format.size()) return type_error("expected '}' before end of string");
    std::string_view inside = format.substr(pos, end - pos);
    pos = end + 1;
    const size_t colon = inside.find(':');
    std::string_view spec = colon == std::string_view::npos ? "" : inside.substr(colon + 1);
    std::string_view name = inside.substr(0, colon);
    const size_t bang = name.find('!');
    const std::string_view conversion = bang == std::string_view::npos ? "" : name.substr(bang + 1);
    SKUA_ASSIGN_OR_RETURN(Value v, value(name.substr(0, bang)));
    if (conversion == "r") v = Value::string(to_repr(v));
    if (conversion == "a") v = Value::string(ascii_repr(v));
    if (conversion == "s") v = Value::string(to_text(v));
    SKUA_ASSIGN_OR_RETURN(const std::string expanded, run(spec, depth + 1));
    return format_value(runtime_, v, expanded);
  }

  Result<Value> value(std::string_view name) {
    size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string first(name.substr(0, end));
    Value v;
    const bool numeric = !first.empty() && first.find_first_not_of("0123456789") == std::string::npos;
    if (first.empty() || numeric) {
      if (first.size() > 6) return type_error("Replacement index out of range");
      const size_t index = first.empty() ? automatic_++ : static_cast<size_t>(std::stoul(first));
      if (index >= args_.positional.size()) return type_error("Replacement index out of range");
      v = args_.positional[index];
    } else {
      const auto found = std::find_if(args_.keyword.begin(), args_.keyword.end(),
                                      [&](const auto& pair) { return pair.first == first; });
      if (found == args_.keyword.end()) return type_error("no argument named '" + first + "'");
      v = found->second;
    }
    while (end < name.size()) {
      const bool bracket = name[end] == '[';
      const size_t stop =
          bracket ? name.find(']', end) : std::min(name.find_first_of(".[", end + 1), name.size());
      if (stop == std::string_view::npos) return type_error("Missing ']' in format string");
      const std::string part(name.substr(end + 1, stop - end - 1));
      const bool index =
          !part.empty() && part.size() < 7 && part.find_first_not_of("0123456789") == std::string::npos;
      auto got = bracket ? runtime_.item(v, index ? Value::integer(std::stol(part)) : Value::string(part))
                         : runtime_.attribute(v, part);
      if (!got.ok()) return got.status();
      if (got->is_undefined()) return type_error(got->as_string());
      v = std::move(*got);
      end = bracket ? stop + 1 : stop;
    }
    return v;
  }

  Runtime& runtime_;
  Args& args_;
  size_t automatic_ = 0;
};

}  // namespace

Result<std::string> format_braces(Runtime& runtime, const std::string& format, Args& args) {
  return BraceFormatter(runtime, args).run(format, 0);
}

}  // namespace skua::jinja
