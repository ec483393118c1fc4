// Methods of Python's strings, lists, tuples, dicts and numbers that a sandboxed template may call.
#include <algorithm>
#include <cmath>

#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

using R = Result<Value>;
constexpr int64_t kMaxWidth = 1 << 20;

const std::string& str(const Value& self) { return self.as_string(); }

R list_of(Runtime& runtime, std::vector<std::string> parts, Flavor flavor = Flavor::kList) {
  SKUA_RETURN_IF_ERROR(runtime.charge(parts.size() * kListedStringBytes));
  std::vector<Value> out;
  out.reserve(parts.size());
  for (std::string& part : parts) out.push_back(Value::string(std::move(part)));
  return runtime.adopt(Value::sequence(std::move(out), flavor));
}

template <std::string (*map)(std::string_view)>
R mapped(Runtime& runtime, const Value& self, Args& args) {
  SKUA_RETURN_IF_ERROR(Bound::bind(args, {}).status());
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() * 4));
  return Value::string(map(str(self)));
}

template <Side side>
R strip(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"chars"}));
  if (b.has(0) && !b.at(0).is_none() && !b.at(0).is_string()) return type_error("arg must be None or str");
  const bool given = b.has(0) && b.at(0).is_string();
  if (given && b.at(0).as_string().empty()) return self;
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size()));
  return Value::string(strip_text(str(self), given ? b.at(0).as_string() : "", side));
}

template <bool from_right>
R split(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"sep", "maxsplit"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t limit, b.integer(1, -1));
  const bool separated = b.has(0) && !b.at(0).is_none();
  if (separated && !b.at(0).is_string()) return type_error("must be str or None");
  if (separated && b.at(0).as_string().empty()) return type_error("empty separator");
  const std::string* separator = separated ? &b.at(0).as_string() : nullptr;
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() * 2));
  return list_of(runtime, from_right ? rsplit_text(str(self), separator, limit)
                                     : split_text(str(self), separator, limit));
}

R splitlines(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"keepends"}));
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() * 2));
  return list_of(runtime, split_lines(str(self), b.flag(0, false) ? KeepEnds::kYes : KeepEnds::kNo));
}

template <bool at_end>
R affix_test(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"affix", "start", "end"}));
  if (!b.has(0)) return type_error("takes at least 1 argument");
  SKUA_ASSIGN_OR_RETURN(const Value part,
                        b.has(1) || b.has(2) ? runtime.slice(self, b.get(1), b.get(2), Value()) : self);
  std::vector<Value> affixes = {b.at(0)};
  if (b.at(0).has_flavor(Flavor::kTuple)) affixes = b.at(0).as_sequence().items;
  bool found = false;
  for (const Value& affix : affixes) {
    if (!affix.is_string())
      return type_error("first arg must be str or a tuple of str, not " + std::string(type_name(affix)));
    found = found || (at_end ? str(part).ends_with(str(affix)) : str(part).starts_with(str(affix)));
  }
  return Value::boolean(found);
}

template <bool at_end>
R remove_affix(Runtime&, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"affix"}));
  SKUA_ASSIGN_OR_RETURN(const std::string affix, b.string(0, ""));
  const std::string& s = str(self);
  if (affix.empty() || !(at_end ? s.ends_with(affix) : s.starts_with(affix))) return self;
  return Value::string(at_end ? s.substr(0, s.size() - affix.size()) : s.substr(affix.size()));
}

R replace(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"old", "new", "count"}));
  if (!b.has(0) || !b.has(1)) return type_error("expected at least 2 arguments");
  SKUA_ASSIGN_OR_RETURN(const std::string from, b.string(0, ""));
  SKUA_ASSIGN_OR_RETURN(const std::string to, b.string(1, ""));
  SKUA_ASSIGN_OR_RETURN(const int64_t limit, b.integer(2, -1));
  const uint64_t most = str(self).size() / std::max<size_t>(from.size(), 1) + 1;
  if (to.size() > 0 && most > (uint64_t{1} << 32) / to.size())
    return resource_exhausted("a replaced text is too long");
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() + (to.size() > from.size() ? most * to.size() : 0)));
  return Value::string(replace_text(str(self), from, to, limit));
}

// Character index of a byte position.
int64_t char_index(std::string_view text, size_t pos) {
  return pos == std::string_view::npos ? -1 : static_cast<int64_t>(text::count_chars(text.substr(0, pos)));
}

enum class Missing : uint8_t { kMinusOne, kError };

template <bool from_right, Missing missing>
R find(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"sub", "start", "end"}));
  if (!b.has(0)) return type_error("takes at least 1 argument");
  SKUA_ASSIGN_OR_RETURN(const std::string wanted, b.string(0, ""));
  SKUA_ASSIGN_OR_RETURN(int64_t start, b.integer(1, 0));
  SKUA_ASSIGN_OR_RETURN(const Value part,
                        b.has(1) || b.has(2) ? runtime.slice(self, b.get(1), b.get(2), Value()) : self);
  SKUA_ASSIGN_OR_RETURN(const int64_t length, runtime.length(self));
  if (start < 0) start = std::max<int64_t>(start + length, 0);
  const std::string& s = str(part);
  SKUA_RETURN_IF_ERROR(runtime.scan(s.size()));
  const int64_t at =
      start > length ? -1 : char_index(s, from_right ? rfind_text(s, wanted) : find_text(s, wanted));
  if (at < 0 && missing == Missing::kError) return type_error("substring not found");
  return Value::integer(at < 0 ? -1 : at + start);
}

R count(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"sub", "start", "end"}));
  if (!b.has(0)) return type_error("takes at least 1 argument");
  SKUA_ASSIGN_OR_RETURN(const std::string wanted, b.string(0, ""));
  SKUA_ASSIGN_OR_RETURN(const Value part,
                        b.has(1) || b.has(2) ? runtime.slice(self, b.get(1), b.get(2), Value()) : self);
  SKUA_RETURN_IF_ERROR(runtime.scan(str(part).size()));
  if (wanted.empty()) return Value::integer(static_cast<int64_t>(text::count_chars(str(part))) + 1);
  return Value::integer(count_text(str(part), wanted));
}

R join(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"iterable"}));
  if (!b.has(0)) return type_error("takes exactly one argument");
  SKUA_ASSIGN_OR_RETURN(const std::vector<Value> items, runtime.iterate(b.at(0)));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string()) {
      return type_error("sequence item " + std::to_string(i) + ": expected str instance, " +
                        std::string(type_name(items[i])) + " found");
    }
    SKUA_RETURN_IF_ERROR(runtime.charge(str(items[i]).size() + str(self).size()));
    if (i > 0) out += str(self);
    out += str(items[i]);
  }
  return Value::string(std::move(out));
}

enum class Place : uint8_t { kLeft, kRight, kCenter };

template <Place place>
R justify(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"width", "fillchar"}));
  if (!b.has(0)) return type_error("takes at least 1 argument");
  SKUA_ASSIGN_OR_RETURN(const int64_t width, b.integer(0, 0));
  SKUA_ASSIGN_OR_RETURN(const std::string fill, b.string(1, " "));
  if (text::count_chars(fill) != 1)
    return type_error("The fill character must be exactly one character long");
  if (width > kMaxWidth) return resource_exhausted("width is too large");
  SKUA_RETURN_IF_ERROR(
      runtime.charge(str(self).size() + static_cast<uint64_t>(std::max<int64_t>(width, 0)) * fill.size()));
  if (place == Place::kCenter) return Value::string(center_text(str(self), width, fill));
  return Value::string(pad_text(str(self), width, fill, place == Place::kLeft ? Side::kLeft : Side::kRight));
}

R zfill(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"width"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t width, b.integer(0, 0));
  if (width > kMaxWidth) return resource_exhausted("width is too large");
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() + static_cast<uint64_t>(std::max<int64_t>(width, 0))));
  const bool sign = str(self).starts_with('-') || str(self).starts_with('+');
  const std::string digits =
      pad_text(str(self).substr(sign ? 1 : 0), width - (sign ? 1 : 0), "0", Side::kRight);
  return Value::string((sign ? str(self).substr(0, 1) : "") + digits);
}

template <bool from_right>
R partition(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"sep"}));
  SKUA_ASSIGN_OR_RETURN(const std::string separator, b.string(0, ""));
  if (separator.empty()) return type_error("empty separator");
  const std::string& s = str(self);
  SKUA_RETURN_IF_ERROR(runtime.charge(s.size()));
  const size_t at = from_right ? rfind_text(s, separator) : find_text(s, separator);
  if (at == std::string::npos) {
    return list_of(runtime,
                   from_right ? std::vector<std::string>{"", "", s} : std::vector<std::string>{s, "", ""},
                   Flavor::kTuple);
  }
  return list_of(runtime, {s.substr(0, at), separator, s.substr(at + separator.size())}, Flavor::kTuple);
}

// Every character fits and there is one.
template <bool (*fits)(char32_t)>
R all_chars(Runtime& runtime, const Value& self, Args& args) {
  SKUA_RETURN_IF_ERROR(Bound::bind(args, {}).status());
  SKUA_RETURN_IF_ERROR(runtime.scan(str(self).size()));
  bool all = !str(self).empty();
  for (size_t pos = 0; pos < str(self).size() && all;) all = fits(text::next_char(str(self), pos));
  return Value::boolean(all);
}

bool is_alnum_char(char32_t c) { return text::is_letter(c) || text::has_numeric_value(c); }

template <bool (*holds)(std::string_view)>
R text_test(Runtime& runtime, const Value& self, Args& args) {
  SKUA_RETURN_IF_ERROR(Bound::bind(args, {}).status());
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() * 3));
  return Value::boolean(holds(str(self)));
}

bool is_ascii_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}
bool is_title_text(std::string_view text) {
  return title_text(text) == text && lower_text(text) != upper_text(text);
}
bool is_identifier(std::string_view text) {
  size_t pos = 0;
  if (text.empty()) return false;
  const char32_t first = text::next_char(text, pos);
  if (first != U'_' && !text::is_letter(first)) return false;
  while (pos < text.size()) {
    if (!text::is_word(text::next_char(text, pos))) return false;
  }
  return true;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    const char32_t c = text::next_char(text, pos);
    const std::string_view one = text.substr(begin, pos - begin);
    out += text::is_upper_case(c)   ? lower_text(one)
           : text::is_lower_case(c) ? upper_text(one)
                                    : std::string(one);
  }
  return out;
}

R expand_tabs(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"tabsize"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t size, b.integer(0, 8));
  if (size > 1000) return resource_exhausted("tab size is too large");
  SKUA_RETURN_IF_ERROR(runtime.charge(str(self).size() * static_cast<uint64_t>(std::max<int64_t>(size, 1))));
  std::string out;
  int64_t column = 0;
  for (const char c : str(self)) {
    if (c == '\t') {
      const int64_t n = size > 0 ? size - column % size : 0;
      out.append(static_cast<size_t>(n), ' ');
      column += n;
    } else {
      out += c;
      if (!text::is_utf8_continuation(c)) ++column;
      if (c == '\n' || c == '\r') column = 0;
    }
  }
  return Value::string(std::move(out));
}

R format(Runtime& runtime, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(std::string out, format_braces(runtime, str(self), args));
  return Value::string(std::move(out));
}

R format_map(Runtime& runtime, const Value& self, Args& args) {
  if (args.positional.size() != 1 || !args.positional[0].is_dict()) return type_error("takes one mapping");
  Args named;
  for (const auto& [key, value] : args.positional[0].as_dict().items)
    named.keyword.emplace_back(to_text(key), value);
  return format(runtime, self, named);
}

// ---- containers ----

R dict_get(Runtime&, const Value& self, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"key", "default"}));
  if (!b.has(0)) return type_error("get expected at least 1 argument, got 0");
  if (!hashable(b.at(0))) return type_error("unhashable type: '" + std::string(type_name(b.at(0))) + "'");
  const Value* found = self.as_dict().find(b.at(0));
  return found != nullptr ? *found : b.get(1);
}

template <Flavor flavor>
R dict_view(Runtime& runtime, const Value& self, Args& args) {
  SKUA_RETURN_IF_ERROR(Bound::bind(args, {}).status());
  std::vector<Value> out;
  for (const auto& [key, value] : self.as_dict().items) {
    out.push_back(flavor == Flavor::kDictKeys     ? key
                  : flavor == Flavor::kDictValues ? value
                                                  : Value::sequence({key, value}, Flavor::kTuple));
  }
  return runtime.adopt(Value::sequence(std::move(out), flavor));
}

R copy(Runtime&, const Value& self, Args&) {
  if (self.is_dict()) return Value::dict(std::make_shared<Dict>(self.as_dict()));
  return Value::sequence(self.as_sequence().items, self.as_sequence().flavor);
}

R list_count(Runtime& runtime, const Value& self, Args& args) {
  if (args.positional.size() != 1) return type_error("takes exactly one argument");
  const auto& items = self.as_sequence().items;
  SKUA_RETURN_IF_ERROR(runtime.step(items.size()));
  return Value::integer(std::count_if(items.begin(), items.end(),
                                      [&](const Value& v) { return equals(v, args.positional[0]); }));
}

R list_index(Runtime& runtime, const Value& self, Args& args) {
  if (args.positional.empty()) return type_error("takes at least one argument");
  const auto& items = self.as_sequence().items;
  SKUA_RETURN_IF_ERROR(runtime.step(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    if (equals(items[i], args.positional[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return type_error("value is not in list");
}

R float_is_integer(Runtime&, const Value& self, Args&) {
  return Value::boolean(self.is_integral() || self.as_double() == std::floor(self.as_double()));
}

using Entry = std::pair<std::string_view, Builtin>;

constexpr Entry kStringMethods[] = {
    {"split", split<false>},
    {"rsplit", split<true>},
    {"strip", strip<Side::kBoth>},
    {"lstrip", strip<Side::kLeft>},
    {"rstrip", strip<Side::kRight>},
    {"startswith", affix_test<false>},
    {"endswith", affix_test<true>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"lower", mapped<lower_text>},
    {"upper", mapped<upper_text>},
    {"title", mapped<title_text>},
    {"capitalize", mapped<capitalize_text>},
    {"casefold", mapped<fold_text>},
    {"swapcase", mapped<swap_case>},
    {"find", find<false, Missing::kMinusOne>},
    {"rfind", find<true, Missing::kMinusOne>},
    {"index", find<false, Missing::kError>},
    {"rindex", find<true, Missing::kError>},
    {"count", count},
    {"join", join},
    {"splitlines", splitlines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"ljust", justify<Place::kLeft>},
    {"rjust", justify<Place::kRight>},
    {"center", justify<Place::kCenter>},
    {"zfill", zfill},
    {"format", format},
    {"format_map", format_map},
    {"expandtabs", expand_tabs},
    {"isdigit", all_chars<text::has_digit_value>},
    {"isdecimal", all_chars<text::is_decimal_digit>},
    {"isnumeric", all_chars<text::has_numeric_value>},
    {"isalpha", all_chars<text::is_letter>},
    {"isalnum", all_chars<is_alnum_char>},
    {"isspace", all_chars<is_python_space>},
    {"isascii", text_test<is_ascii_text>},
    {"islower", text_test<is_lower_text>},
    {"isupper", text_test<is_upper_text>},
    {"istitle", text_test<is_title_text>},
    {"isidentifier", text_test<is_identifier>},
};
constexpr Entry kDictMethods[] = {
    {"get", dict_get},
    {"items", dict_view<Flavor::kDictItems>},
    {"keys", dict_view<Flavor::kDictKeys>},
    {"values", dict_view<Flavor::kDictValues>},
    {"copy", copy},
};
constexpr Entry kListMethods[] = {{"count", list_count}, {"index", list_index}, {"copy", copy}};
constexpr Entry kNumberMethods[] = {{"is_integer", float_is_integer}};

template <size_t N>
Builtin pick(const Entry (&table)[N], std::string_view name) {
  for (const auto& [known, function] : table) {
    if (known == name) return function;
  }
  return nullptr;
}

}  // namespace

Builtin find_method(const Value& self, std::string_view name) {
  if (self.is_string()) return pick(kStringMethods, name);
  if (self.is_dict()) return pick(kDictMethods, name);
  if (self.is_float()) return pick(kNumberMethods, name);
  const bool list = self.has_flavor(Flavor::kList);
  const bool tuple =
      self.has_flavor(Flavor::kTuple) || self.has_flavor(Flavor::kRange) || self.has_flavor(Flavor::kGroup);
  return list || (tuple && name != "copy") ? pick(kListMethods, name) : nullptr;
}

bool is_forbidden_method(const Value& self, std::string_view name) {
  static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                               "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (self.has_flavor(Flavor::kList) && in(kList)) || (self.is_dict() && in(kDict));
}

}  // namespace skua::jinja
