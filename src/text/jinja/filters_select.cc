// map, select, reject and their attribute forms. Source: jinja2 3.1, filters.py.
#include "text/jinja/filters.h"

namespace skua::jinja {
namespace {

using R = Result<Value>;
using Items = std::vector<Value>;

R map_attribute(Runtime& runtime, const Items& all, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"attribute", "default"}));
  const AttributePath path = AttributePath::of(b.get(0));
  Items out;
  for (const Value& item : all) {
    auto v = path.get(runtime, item);
    if (!v.ok()) return v;
    if (v->is_undefined() && b.has(1)) v = b.at(1);
    out.push_back(std::move(*v));
  }
  return runtime.adopt(Value::sequence(std::move(out), Flavor::kGenerator));
}

// What a filter goes over: nothing at all for anything false (0, none).
Result<Items> items_of(Runtime& runtime, const Value& v) { return truthy(v) ? runtime.iterate(v) : Items(); }

R map(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Items all, items_of(runtime, v));
  bool by_attribute = args.positional.empty();
  for (const auto& [name, value] : args.keyword)
    by_attribute = by_attribute && (name == "attribute" || name == "default");
  if (by_attribute && !args.keyword.empty()) return map_attribute(runtime, all, args);
  if (args.positional.empty() || !args.positional[0].is_string())
    return type_error("map requires a filter argument");
  const std::string name = args.positional[0].as_string();
  Items out;
  for (const Value& item : all) {
    Args rest;
    rest.positional.assign(args.positional.begin() + 1, args.positional.end());
    rest.keyword = args.keyword;
    SKUA_ASSIGN_OR_RETURN(Value made, runtime.filter(name, item, rest));
    out.push_back(std::move(made));
  }
  return runtime.adopt(Value::sequence(std::move(out), Flavor::kGenerator));
}

enum class By : uint8_t { kItem, kAttribute };
enum class Keep : uint8_t { kMatching, kOthers };

template <By by, Keep keep>
R select(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Items all, items_of(runtime, v));
  size_t used = 0;
  AttributePath path;
  if (by == By::kAttribute) {
    if (args.positional.empty()) return type_error("Missing parameter for attribute name");
    path = AttributePath::of(args.positional[used++]);
  }
  std::string test;
  if (used < args.positional.size()) {
    if (!args.positional[used].is_string()) return type_error("the test must be named by a string");
    test = args.positional[used++].as_string();
    if (find_test(test) == nullptr) return type_error("No test named '" + test + "'");
  }
  Items out;
  for (const Value& item : all) {
    SKUA_ASSIGN_OR_RETURN(const Value subject, path.get(runtime, item));
    bool matches = truthy(subject);
    if (!test.empty()) {
      Args rest;
      rest.positional.assign(args.positional.begin() + static_cast<ptrdiff_t>(used), args.positional.end());
      rest.keyword = args.keyword;
      SKUA_ASSIGN_OR_RETURN(matches, runtime.test(test, subject, rest));
    }
    if (matches == (keep == Keep::kMatching)) out.push_back(item);
  }
  return runtime.adopt(Value::sequence(std::move(out), Flavor::kGenerator));
}

constexpr FilterEntry kTable[] = {
    {"map", map},
    {"select", select<By::kItem, Keep::kMatching>},
    {"reject", select<By::kItem, Keep::kOthers>},
    {"selectattr", select<By::kAttribute, Keep::kMatching>},
    {"rejectattr", select<By::kAttribute, Keep::kOthers>},
};

}  // namespace

std::span<const FilterEntry> select_filters() { return kTable; }

}  // namespace skua::jinja
