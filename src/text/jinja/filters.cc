// Finding filters by name, and what several of them need.
#include "text/jinja/filters.h"

#include <algorithm>
#include <iterator>

#include "text/jinja/escaped.h"

namespace skua::jinja {

Builtin find_filter(std::string_view name) {
  for (const auto& table : {text_filters(), list_filters(), select_filters(), markup_filters()}) {
    for (const auto& [known, function] : table) {
      if (known == name) return function;
    }
  }
  return nullptr;
}

namespace {

bool takes_nothing(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "abs",    "capitalize", "count", "e",     "escape",    "first",    "forceescape", "items",
      "last",   "length",     "list",  "lower", "pprint",    "random",   "reverse",     "safe",
      "string", "striptags",  "title", "upper", "urlencode", "wordcount"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

Result<Value> Runtime::filter(const std::string& name, const Value& v, Args& args) {
  SKUA_RETURN_IF_ERROR(step());
  const Builtin function = find_filter(name);
  if (function == nullptr) return type_error("no filter named '" + name + "'");
  if (takes_nothing(name) && !(args.positional.empty() && args.keyword.empty()))
    return type_error("takes no arguments");
  return filter_escaped(*this, name, function, v, args);
}

AttributePath AttributePath::of(const Value& v) {
  AttributePath out;
  if (v.is_integral()) {
    out.parts.push_back(v);
  } else if (v.is_string()) {
    const std::string& path = v.as_string();
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      const std::string part = path.substr(begin, end - begin);
      const bool index =
          !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
      out.parts.push_back(index ? Value::integer(std::stol(part)) : Value::string(part));
      begin = end + 1;
    }
  }
  return out;
}

Result<Value> AttributePath::get(Runtime& runtime, const Value& item) const {
  Value v = item;
  for (const Value& part : parts) {
    SKUA_ASSIGN_OR_RETURN(v, runtime.item(v, part));
  }
  return v;
}

}  // namespace skua::jinja
