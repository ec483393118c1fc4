// Tests (`is name`). Source: jinja2 3.1, tests.py.
#include "text/jinja/runtime.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "text/jinja/text_ops.h"

namespace skua::jinja {
namespace {

using R = Result<bool>;

template <Value::Kind kind>
R is_kind(Runtime&, const Value& v, Args&) {
  return v.kind() == kind;
}

R is_defined(Runtime&, const Value& v, Args&) { return !v.is_undefined(); }
R is_number(Runtime&, const Value& v, Args&) { return v.is_number(); }
R is_true(Runtime&, const Value& v, Args&) { return v.is_bool() && v.as_int() != 0; }
R is_false(Runtime&, const Value& v, Args&) { return v.is_bool() && v.as_int() == 0; }
R is_callable(Runtime&, const Value& v, Args&) {
  return v.is_undefined() || (v.is_object() && v.as_object().callable());
}
R is_escaped(Runtime&, const Value& v, Args&) { return v.is_escaped(); }
R is_iterable(Runtime&, const Value& v, Args&) {
  return v.is_sequence() || v.is_dict() || v.is_string() || v.is_undefined();
}

R is_sequence(Runtime&, const Value& v, Args&) {
  if (v.is_undefined()) return true;
  const bool view = v.has_flavor(Flavor::kDictKeys) || v.has_flavor(Flavor::kDictValues) ||
                    v.has_flavor(Flavor::kDictItems) || v.has_flavor(Flavor::kGenerator);
  return v.is_string() || v.is_dict() || (v.is_sequence() && !view);
}

Status needs_number(const Value& v) {
  if (v.is_undefined()) return type_error(v.as_string());
  return type_error("'" + std::string(type_name(v)) + "' is not a number");
}

Result<Value> remainder(Runtime& runtime, const Value& v, const Value& by) {
  if (!v.is_number() || !by.is_number()) return needs_number(v.is_number() ? by : v);
  return runtime.binary("%", v, by);
}

R is_odd(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const Value rest, remainder(runtime, v, Value::integer(2)));
  return equals(rest, Value::integer(1));
}
R is_even(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const Value rest, remainder(runtime, v, Value::integer(2)));
  return equals(rest, Value::integer(0));
}

Result<Value> one_argument(Args& args) {
  if (args.positional.size() != 1 || !args.keyword.empty()) return type_error("takes one argument");
  return args.positional[0];
}

R is_divisible(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Value by, one_argument(args));
  SKUA_ASSIGN_OR_RETURN(const Value rest, remainder(runtime, v, by));
  return equals(rest, Value::integer(0));
}

template <char a, char b>
R is_compared(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Value other, one_argument(args));
  const char sign[] = {a, b, '\0'};
  return runtime.compare(std::string_view(sign, b == '\0' ? 1 : 2), v, other);
}

R is_in(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Value container, one_argument(args));
  return runtime.contains(container, v);
}

R is_same(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Value other, one_argument(args));
  if (v.kind() != other.kind()) return false;
  if (v.identity() != nullptr && !v.is_string()) return v.identity() == other.identity();
  return equals(v, other);
}

R is_lower(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  return is_lower_text(text);
}
R is_upper(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(v));
  return is_upper_text(text);
}

R is_filter(Runtime&, const Value& v, Args&) {
  return v.is_string() && find_filter(v.as_string()) != nullptr;
}
R is_test(Runtime&, const Value& v, Args&) { return v.is_string() && find_test(v.as_string()) != nullptr; }

constexpr std::pair<std::string_view, TestFn> kTests[] = {
    {"defined", is_defined},
    {"undefined", is_kind<Value::Kind::kUndefined>},
    {"none", is_kind<Value::Kind::kNone>},
    {"boolean", is_kind<Value::Kind::kBool>},
    {"integer", is_kind<Value::Kind::kInt>},
    {"float", is_kind<Value::Kind::kFloat>},
    {"string", is_kind<Value::Kind::kString>},
    {"mapping", is_kind<Value::Kind::kDict>},
    {"number", is_number},
    {"true", is_true},
    {"false", is_false},
    {"callable", is_callable},
    {"escaped", is_escaped},
    {"iterable", is_iterable},
    {"sequence", is_sequence},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible},
    {"in", is_in},
    {"sameas", is_same},
    {"lower", is_lower},
    {"upper", is_upper},
    {"filter", is_filter},
    {"test", is_test},
    {"eq", is_compared<'=', '='>},
    {"equalto", is_compared<'=', '='>},
    {"==", is_compared<'=', '='>},
    {"ne", is_compared<'!', '='>},
    {"!=", is_compared<'!', '='>},
    {"lt", is_compared<'<', '\0'>},
    {"lessthan", is_compared<'<', '\0'>},
    {"<", is_compared<'<', '\0'>},
    {"gt", is_compared<'>', '\0'>},
    {"greaterthan", is_compared<'>', '\0'>},
    {">", is_compared<'>', '\0'>},
    {"le", is_compared<'<', '='>},
    {"<=", is_compared<'<', '='>},
    {"ge", is_compared<'>', '='>},
    {">=", is_compared<'>', '='>},
};

}  // namespace

TestFn find_test(std::string_view name) {
  for (const auto& [known, function] : kTests) {
    if (known == name) return function;
  }
  return nullptr;
}

namespace {

bool takes_an_argument(TestFn function) {
  constexpr TestFn kTakers[] = {is_divisible,
                                is_in,
                                is_same,
                                is_compared<'=', '='>,
                                is_compared<'!', '='>,
                                is_compared<'<', '\0'>,
                                is_compared<'>', '\0'>,
                                is_compared<'<', '='>,
                                is_compared<'>', '='>};
  return std::find(std::begin(kTakers), std::end(kTakers), function) != std::end(kTakers);
}

}  // namespace

Result<bool> Runtime::test(const std::string& name, const Value& v, Args& args) {
  SKUA_RETURN_IF_ERROR(step());
  const TestFn function = find_test(name);
  if (function == nullptr) return type_error("no test named '" + name + "'");
  if (!takes_an_argument(function) && !(args.positional.empty() && args.keyword.empty()))
    return type_error("takes no arguments");
  return function(*this, v, args);
}

}  // namespace skua::jinja
