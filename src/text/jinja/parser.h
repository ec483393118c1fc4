// Tokens to a syntax tree.
#pragma once

#include <string_view>

#include "base/status.h"
#include "text/jinja/ast.h"

namespace skua::jinja {

/// Parses a whole template. Errors: kInvalidArgument (syntax; names the line and what was expected);
/// kUnsupported (a tag that chat templates do not use: extends, include, import, block).
Result<Body> parse_template(std::string_view source);

}  // namespace skua::jinja
