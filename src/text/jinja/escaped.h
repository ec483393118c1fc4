// Strings that `safe` and `escape` have marked as escaped (Markup in Python): plain strings that meet them in
// `+` and in their methods get escaped, even where nothing is escaped by itself. Where that is not done
// exactly, it is refused.
#pragma once

#include <string>

#include "text/jinja/runtime.h"

namespace skua::jinja {

/// a + b, one of them marked.
Result<Value> add_escaped(Runtime& runtime, const Value& a, const Value& b);

/// A method of the marked string `self`. Errors: those of `method`; kInvalidArgument (one that would escape
/// its arguments).
Result<Value> call_on_escaped(Runtime& runtime, const std::string& name, Builtin method, const Value& self,
                              Args& args);

/// A filter on any value: marks what it makes, or keeps the mark, as Jinja2 does.
Result<Value> filter_escaped(Runtime& runtime, const std::string& name, Builtin function, const Value& v,
                             Args& args);

}  // namespace skua::jinja
