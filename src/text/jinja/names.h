// Whether a stretch of a template uses a name.
#pragma once

#include <set>
#include <string>

#include "text/jinja/ast.h"

namespace skua::jinja {

/// Those of `names` that `body` reads before it sets them, macros and loops inside of it included, blocks
/// not.
std::set<std::string> mentioned(const Body& body, std::set<std::string> names);
bool mentions(const Body& body, const std::string& name);

/// Whether a `set` or a `for` anywhere in `stmt` sets `name`.
bool stores(const Stmt& stmt, std::string_view name);

bool has_scoped_block(const Stmt& stmt);

}  // namespace skua::jinja
