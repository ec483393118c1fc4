// The filters, by what they work on. Internal to jinja/.
#pragma once

#include <span>
#include <utility>

#include "text/jinja/runtime.h"

namespace skua::jinja {

using FilterEntry = std::pair<std::string_view, Builtin>;
std::span<const FilterEntry> text_filters();    // filters_text.cc
std::span<const FilterEntry> list_filters();    // filters_list.cc
std::span<const FilterEntry> select_filters();  // filters_select.cc
std::span<const FilterEntry> markup_filters();  // filters_markup.cc

/// pprint. Errors: kInvalidArgument (arguments); kResourceExhausted.
Result<Value> pretty_print(Runtime& runtime, const Value& v, Args& args);  // pprint.cc

/// What an `attribute=` argument names: "a.b.0" or an index; nothing for None.
struct AttributePath {
  std::vector<Value> parts;
  static AttributePath of(const Value& v);
  Result<Value> get(Runtime& runtime, const Value& item) const;
};

}  // namespace skua::jinja
