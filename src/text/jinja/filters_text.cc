// Filters that make text or numbers. Source: jinja2 3.1, filters.py; tojson as transformers sets it up.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "text/jinja/filters.h"
#include "text/jinja/text_ops.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

using R = Result<Value>;
constexpr int64_t kMaxWidth = 1 << 20;

template <std::string (*map)(std::string_view)>
R mapped(Runtime& runtime, const Value& v, Args& args) {
  SKUA_RETURN_IF_ERROR(Bound::bind(args, {}).status());
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  return runtime.make_string(map(text));
}

// Words start after spaces and opening brackets and dashes (jinja's title, not Python's).
std::string jinja_title(std::string_view text) {
  std::string out;
  bool start = true;
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    size_t pos = 0;
    text::next_char(word, pos);
    out += upper_text(std::string_view(word).substr(0, pos)) + lower_text(std::string_view(word).substr(pos));
    word.clear();
  };
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    const char32_t c = text::next_char(text, pos);
    start = text::is_whitespace(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
    if (start) flush();
    if (start) {
      out += text.substr(begin, pos - begin);
    } else {
      word += text.substr(begin, pos - begin);
    }
  }
  flush();
  return out;
}

R trim(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"chars"}));
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  const bool given = b.has(0) && b.at(0).is_string();
  if (given && b.at(0).as_string().empty()) return Value::string(text);
  return runtime.make_string(strip_text(text, given ? b.at(0).as_string() : "", Side::kBoth));
}

R to_string(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(std::string text, runtime.text_of(v));
  return Value::string(std::move(text));
}

R replace(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"old", "new", "count"}));
  if (!b.has(0) || !b.has(1)) return type_error("needs 'old' and 'new'");
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  SKUA_ASSIGN_OR_RETURN(const std::string from, runtime.text_of(b.at(0)));
  SKUA_ASSIGN_OR_RETURN(const std::string to, runtime.text_of(b.at(1)));
  SKUA_ASSIGN_OR_RETURN(const int64_t limit, b.integer(2, -1));
  Args call;
  call.positional = {Value::string(from), Value::string(to), Value::integer(limit)};
  return find_method(Value::string(text), "replace")(runtime, Value::string(text), call);
}

R indent(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"width", "first", "blank"}));
  if (!v.is_string()) return type_error("needs a text, not " + std::string(type_name(v)));
  const std::string& text = v.as_string();
  std::string margin = "    ";
  if (b.has(0) && b.at(0).is_string()) margin = b.at(0).as_string();
  if (b.has(0) && !b.at(0).is_string()) {
    SKUA_ASSIGN_OR_RETURN(const int64_t width, b.integer(0, 4));
    if (width > kMaxWidth) return resource_exhausted("width is too large");
    margin.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const auto n_lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 2;
  SKUA_RETURN_IF_ERROR(runtime.charge(text.size() + n_lines * margin.size()));
  std::string out = b.flag(1, false) ? margin : "";
  // Lines as str.splitlines() sees them of the text with one more newline; they are joined with "\n".
  const std::vector<std::string> lines = split_lines(text + "\n", KeepEnds::kNo);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n";
    if (i > 0 && (b.flag(2, false) || !lines[i].empty())) out += margin;
    out += lines[i];
  }
  return Value::string(std::move(out));
}

R center(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"width"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t width, b.integer(0, 80));
  if (width > kMaxWidth) return resource_exhausted("width is too large");
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  return runtime.make_string(center_text(text, width, " "));
}

R truncate(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"length", "killwords", "end", "leeway"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t length, b.integer(0, 255));
  SKUA_ASSIGN_OR_RETURN(const std::string end, b.string(2, "..."));
  SKUA_ASSIGN_OR_RETURN(const int64_t leeway, b.integer(3, 5));
  if (!v.is_string()) {
    SKUA_ASSIGN_OR_RETURN(const int64_t n, runtime.length(v));
    return n <= length + leeway ? R(v) : type_error("needs a text, not " + std::string(type_name(v)));
  }
  const std::string& text = v.as_string();
  SKUA_RETURN_IF_ERROR(runtime.charge(text.size() * 4));
  const std::u32string chars = text::to_utf32(text);
  const auto n_end = static_cast<int64_t>(text::count_chars(end));
  if (length < n_end || leeway < 0)
    return type_error("expected length >= " + std::to_string(n_end) + " and leeway >= 0");
  if (static_cast<int64_t>(chars.size()) <= length + leeway) return Value::string(text);
  std::u32string cut = chars.substr(0, static_cast<size_t>(length - n_end));
  if (!b.flag(1, false)) {
    const size_t space = cut.rfind(U' ');
    if (space != std::u32string::npos) cut.resize(space);
  }
  return runtime.make_string(text::to_utf8(cut) + end);
}

R wordcount(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  int64_t n = 0;
  bool in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    const bool word = text::is_word(text::next_char(text, pos));
    n += word && !in_word;
    in_word = word;
  }
  return Value::integer(n);
}

enum class UrlPart : uint8_t { kPath, kQuery };

std::string url_quoted(std::string_view text, UrlPart part) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && part == UrlPart::kPath)) {
      out += c;
    } else if (c == ' ' && part == UrlPart::kQuery) {
      out += '+';
    } else {
      out += {'%', kDigits[static_cast<uint8_t>(c) >> 4], kDigits[static_cast<uint8_t>(c) & 15]};
    }
  }
  return out;
}

R url_encode(Runtime& runtime, const Value& v, Args&) {
  if (!v.is_dict() && !v.is_sequence() && !v.is_undefined()) {
    SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
    return runtime.make_string(url_quoted(text, UrlPart::kPath));
  }
  std::vector<Value> pairs;
  if (v.is_dict()) {
    for (const auto& [key, value] : v.as_dict().items) pairs.push_back(Value::sequence({key, value}));
  } else {
    SKUA_ASSIGN_OR_RETURN(pairs, runtime.iterate(v));
  }
  std::string out;
  for (const Value& pair : pairs) {
    SKUA_ASSIGN_OR_RETURN(const std::vector<Value> parts, runtime.iterate(pair));
    if (parts.size() != 2) return type_error("expected pairs of key and value");
    SKUA_ASSIGN_OR_RETURN(const std::string key, runtime.text_of(parts[0]));
    SKUA_ASSIGN_OR_RETURN(const std::string value, runtime.text_of(parts[1]));
    out += (out.empty() ? "" : "&") + url_quoted(key, UrlPart::kQuery) + "=" +
           url_quoted(value, UrlPart::kQuery);
  }
  return runtime.make_string(std::move(out));
}

// Drops tags and comments; the first one that is not closed ends the search. Source: markupsafe 3.0.
std::string without_tags(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const size_t open = text.find('<', pos);
    const bool comment = open != std::string_view::npos && text.substr(open).starts_with("<!--");
    const size_t close = open == std::string_view::npos ? open
                         : comment                      ? text.find("-->", open + 4)
                                                        : text.find('>', open);
    if (close == std::string_view::npos) return out.append(text.substr(pos));
    out.append(text.substr(pos, open - pos));
    pos = close + (comment ? 3 : 1);
  }
  return out;
}

// The entities that escape writes become characters again. Errors: kInvalidArgument (another one).
Result<std::string> without_entities(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kKnown[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&#39;", '\''}, {"&#34;", '"'}, {"&quot;", '"'}};
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const auto& entity) {
      return text.substr(pos).starts_with(entity.first);
    });
    if (known != std::end(kKnown)) {
      out += known->second;
      pos += known->first.size();
      continue;
    }
    const char next = pos + 1 < text.size() ? text[pos + 1] : ' ';
    if (text[pos] == '&' && (next == '#' || (next | 0x20) == std::clamp<char>(next | 0x20, 'a', 'z')))
      return type_error("the entity at '" + std::string(text.substr(pos, 8)) + "' is not supported");
    out += text[pos++];
  }
  return out;
}

R strip_tags(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  SKUA_RETURN_IF_ERROR(runtime.charge(text.size() * 4));
  std::string joined;
  for (const std::string& word : split_text(without_tags(text), nullptr, -1))
    joined += (joined.empty() ? "" : " ") + word;
  SKUA_ASSIGN_OR_RETURN(std::string out, without_entities(joined));
  return runtime.make_string(std::move(out));
}

R percent(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const std::string format, runtime.text_of(v));
  if (!args.keyword.empty() && !args.positional.empty()) {
    return type_error("can't handle positional and keyword arguments at the same time");
  }
  Value values = Value::sequence(args.positional, Flavor::kTuple);
  if (!args.keyword.empty()) {
    auto named = std::make_shared<Dict>();
    for (const auto& [name, value] : args.keyword) named->set(Value::string(name), value);
    values = Value::dict(std::move(named));
  }
  SKUA_ASSIGN_OR_RETURN(std::string out, format_percent(runtime, format, values));
  return Value::string(std::move(out));
}

R tojson(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b,
                        Bound::bind(args, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = b.flag(0, false);
  style.sort_keys = b.flag(3, false);
  if (b.has(1) && b.at(1).is_string()) style.indent = b.at(1).as_string();
  if (b.has(1) && b.at(1).is_integral()) {
    if (b.at(1).as_int() > 1000) return resource_exhausted("indent is too large");
    style.indent = std::string(static_cast<size_t>(std::max<int64_t>(b.at(1).as_int(), 0)), ' ');
  }
  if (style.indent) style.item_separator = ",";
  if (b.has(2) && !b.at(2).is_none()) {
    SKUA_ASSIGN_OR_RETURN(const std::vector<Value> pair, runtime.iterate(b.at(2)));
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return type_error("separators must be two strings");
    style.item_separator = pair[0].as_string();
    style.key_separator = pair[1].as_string();
  }
  SKUA_ASSIGN_OR_RETURN(std::string out, dump_json(runtime, v, style));
  return Value::string(std::move(out));
}

// ---- numbers ----

R abs_value(Runtime& runtime, const Value& v, Args&) {
  if (v.is_float()) return Value::real(std::fabs(v.as_double()));
  if (v.is_integral()) return v.as_int() < 0 ? runtime.unary("-", v) : Value::integer(v.as_int());
  if (v.is_undefined()) return type_error(v.as_string());
  return type_error("bad operand type for abs(): '" + std::string(type_name(v)) + "'");
}

// Decimal digits of any script as ASCII, as Python's int() and float() read them.
std::string ascii_digits(const std::string& text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    const int digit = text::decimal_value(text::next_char(text, pos));
    if (digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else {
      out.append(text, begin, pos - begin);
    }
  }
  return out;
}

// Python's int(): surrounding spaces, a sign, underscores between digits. True when `raw` is an integer;
// `out` stays empty when it does not fit.
bool parse_int(const std::string& raw, int64_t base, std::optional<int64_t>& out) {
  std::string s = ascii_digits(strip_text(raw, "", Side::kBoth));
  bool negative = false;
  if (s.starts_with('-') || s.starts_with('+')) {
    negative = s[0] == '-';
    s.erase(0, 1);
  }
  const auto prefix = [&](char c) { return s.size() > 2 && s[0] == '0' && (s[1] | 0x20) == c; };
  if ((base == 16 && prefix('x')) || (base == 8 && prefix('o')) || (base == 2 && prefix('b'))) s.erase(0, 2);
  std::string digits;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool between = i > 0 && i + 1 < s.size() && s[i - 1] != '_';
    if (s[i] == '_' && between) continue;
    digits += s[i];
  }
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return false;
  if (negative) digits.insert(digits.begin(), '-');
  const char* end = digits.data() + digits.size();
  int64_t value = 0;
  const auto made = std::from_chars(digits.data(), end, value, static_cast<int>(base));
  if (made.ec == std::errc()) out = value;
  return made.ec != std::errc::invalid_argument && made.ptr == end;
}

bool parse_float(const std::string& raw, double& out) {
  std::string s = ascii_digits(strip_text(raw, "", Side::kBoth));
  if (s.starts_with('+')) s.erase(0, 1);
  const std::string_view body = s.starts_with('-') ? std::string_view(s).substr(1) : s;
  if (body.starts_with('-') || body.starts_with('+') || body.find('x') != std::string_view::npos)
    return false;
  const char* end = s.data() + s.size();
  const auto made = std::from_chars(s.data(), end, out);
  if (made.ec == std::errc::result_out_of_range) out = parse_real(s);
  return !s.empty() && made.ptr == end && made.ec != std::errc::invalid_argument;
}

R to_int(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"default", "base"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t base, b.integer(1, 10));
  if (base < 2 || base > 36) return type_error("base must be between 2 and 36");
  const Value fallback = b.get(0, Value::integer(0));
  if (v.is_integral()) return Value::integer(v.as_int());
  double d = 0;
  std::optional<int64_t> i;
  if (v.is_string() && parse_int(v.as_string(), base, i))
    return i ? R(Value::integer(*i)) : type_error("integer does not fit 64 bits");
  if (v.is_undefined()) return type_error(v.as_string());
  if (v.is_float()) {
    d = v.as_double();
  } else if (!v.is_string() || !parse_float(v.as_string(), d)) {
    return fallback;
  }
  if (std::isnan(d)) return fallback;
  if (std::isinf(d)) return type_error("cannot convert float infinity to integer");
  if (d >= 9223372036854775808.0 || d < -9223372036854775808.0)
    return type_error("integer does not fit 64 bits");
  return Value::integer(static_cast<int64_t>(d));
}

R to_float(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"default"}));
  if (v.is_number()) return Value::real(v.as_double());
  if (v.is_undefined()) return type_error(v.as_string());
  double d = 0;
  if (v.is_string() && parse_float(v.as_string(), d)) return Value::real(d);
  return b.get(0, Value::real(0.0));
}

R round_value(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"precision", "method"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t precision, b.integer(0, 0));
  SKUA_ASSIGN_OR_RETURN(const std::string method, b.string(1, "common"));
  if (method != "common" && method != "ceil" && method != "floor")
    return type_error("method must be common, ceil or floor");
  if (v.is_undefined()) return type_error(v.as_string());
  if (!v.is_number())
    return type_error("type " + std::string(type_name(v)) + " doesn't define __round__ method");
  if (precision > 300 || precision < -300) return type_error("precision is out of range");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method != "common") {
    const double scaled = v.as_double() * scale;
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (v.is_integral() && precision >= 0) return Value::integer(v.as_int());
  double out = 0;
  if (precision >= 0) {
    char buffer[700];
    const int n = std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(precision), v.as_double());
    std::from_chars(buffer, buffer + n, out);
  } else {
    out = std::nearbyint(v.as_double() * scale) / scale;
  }
  return v.is_integral() ? Value::integer(static_cast<int64_t>(out)) : Value::real(out);
}

R file_size(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"binary"}));
  if (!v.is_number() && !v.is_string()) return type_error("needs a number");
  double bytes = v.is_number() ? v.as_double() : 0;
  if (v.is_string() && !parse_float(v.as_string(), bytes))
    return type_error("could not convert string to float");
  const bool binary = b.flag(0, false);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::string("1 Byte");
  if (bytes < base) return Value::string(std::to_string(static_cast<int64_t>(bytes)) + " Bytes");
  static constexpr std::string_view kUnits = "kMGTPEZY";
  size_t i = 0;
  double unit = base * base;
  for (; i + 1 < kUnits.size() && bytes >= unit; ++i) unit *= base;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.1f ", base * bytes / unit);
  const std::string letter(1, binary && i == 0 ? 'K' : kUnits[i]);
  return Value::string(std::string(buffer) + letter + (binary ? "iB" : "B"));
}

constexpr FilterEntry kTable[] = {
    {"lower", mapped<lower_text>},
    {"upper", mapped<upper_text>},
    {"capitalize", mapped<capitalize_text>},
    {"title", mapped<jinja_title>},
    {"escape", mapped<escape_html>},
    {"e", mapped<escape_html>},
    {"forceescape", mapped<escape_html>},
    {"safe", to_string},
    {"string", to_string},
    {"trim", trim},
    {"replace", replace},
    {"indent", indent},
    {"center", center},
    {"truncate", truncate},
    {"wordcount", wordcount},
    {"urlencode", url_encode},
    {"striptags", strip_tags},
    {"format", percent},
    {"tojson", tojson},
    {"abs", abs_value},
    {"int", to_int},
    {"float", to_float},
    {"round", round_value},
    {"filesizeformat", file_size},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return kTable; }

}  // namespace skua::jinja
