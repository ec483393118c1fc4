// Tokens to a syntax tree.
#pragma once

#include <string_view>

#include "base/status.h"
#include "text/jinja/ast.h"

namespace skua::jinja {

/// Parses a whole template and settles its frames. Errors: kInvalidArgument (syntax; names the line and what
/// was expected); kUnsupported (autoescape that is not off).
Result<Template> parse_template(std::string_view source);

}  // namespace skua::jinja
