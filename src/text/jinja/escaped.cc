// Source of the rules: markupsafe 3.0 and jinja2 3.1, filters.py, with autoescape off.
#include "text/jinja/escaped.h"

#include <algorithm>
#include <iterator>

#include "text/jinja/text_ops.h"

namespace skua::jinja {
namespace {

template <size_t n>
bool is_one_of(std::string_view name, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Escaping it would change nothing.
bool stays(const Value& v) {
  return !v.is_string() || v.is_escaped() || escape_html(v.as_string()) == v.as_string();
}

Value marked(const Value& v) {
  if (v.is_string()) return v.marked_escaped();
  if (!v.has_flavor(Flavor::kList) && !v.has_flavor(Flavor::kTuple)) return v;
  std::vector<Value> items;
  for (const Value& item : v.as_sequence().items) items.push_back(item.marked_escaped());
  return Value::sequence(std::move(items), v.as_sequence().flavor);
}

Status refused(const std::string& name) {
  return type_error("'" + name + "' on escaped text would escape what it is given; that is not supported");
}

Result<bool> arguments_stay(Runtime& runtime, const std::string& name, const Args& args) {
  bool all = std::all_of(args.positional.begin(), args.positional.end(), stays) &&
             std::all_of(args.keyword.begin(), args.keyword.end(),
                         [](const auto& pair) { return stays(pair.second); });
  if (name == "join" && args.positional.size() == 1) {
    if (args.positional[0].has_flavor(Flavor::kGenerator)) return false;
    SKUA_ASSIGN_OR_RETURN(const std::vector<Value> items, runtime.iterate(args.positional[0]));
    all = std::all_of(items.begin(), items.end(), stays);
  }
  return all;
}

}  // namespace

Result<Value> add_escaped(Runtime& runtime, const Value& a, const Value& b) {
  const auto text = [](const Value& v) {
    return v.is_escaped() ? v.as_string() : escape_html(v.as_string());
  };
  SKUA_RETURN_IF_ERROR(runtime.charge(6 * (a.as_string().size() + b.as_string().size())));
  return Value::string(text(a) + text(b)).marked_escaped();
}

Result<Value> call_on_escaped(Runtime& runtime, const std::string& name, Builtin method, const Value& self,
                              Args& args) {
  static constexpr std::string_view kKeep[] = {
      "strip",      "lstrip", "rstrip",     "removeprefix", "removesuffix", "lower",
      "upper",      "title",  "capitalize", "casefold",     "swapcase",     "zfill",
      "expandtabs", "split",  "rsplit",     "splitlines",   "partition",    "rpartition"};
  static constexpr std::string_view kEscapeArguments[] = {"replace", "ljust", "rjust", "center", "join"};
  if (name == "format" || name == "format_map") return refused(name);
  const bool escapes = is_one_of(name, kEscapeArguments);
  if (escapes) {
    SKUA_RETURN_IF_ERROR(runtime.charge(self.as_string().size()));
    SKUA_ASSIGN_OR_RETURN(const bool same, arguments_stay(runtime, name, args));
    if (!same) return refused(name);
  }
  SKUA_ASSIGN_OR_RETURN(const Value made, method(runtime, self, args));
  return escapes || is_one_of(name, kKeep) ? marked(made) : made;
}

Result<Value> filter_escaped(Runtime& runtime, const std::string& name, Builtin function, const Value& v,
                             Args& args) {
  static constexpr std::string_view kMark[] = {"safe", "e", "escape", "forceescape"};
  static constexpr std::string_view kKeep[] = {"upper",  "lower",   "trim", "capitalize", "center",
                                               "string", "reverse", "last", "indent",     "truncate"};
  if (v.is_escaped()) {
    if (name == "e" || name == "escape") return v;
    const bool other_end = name == "truncate" && (args.positional.size() > 2 || !args.keyword.empty());
    if (name == "format" || name == "urlize" || other_end) return refused(name);
  }
  SKUA_ASSIGN_OR_RETURN(const Value made, function(runtime, v, args));
  return is_one_of(name, kMark) || (v.is_escaped() && is_one_of(name, kKeep)) ? marked(made) : made;
}

}  // namespace skua::jinja
