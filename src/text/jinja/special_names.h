// Which of the names that Jinja gives to macros a macro's body uses.
#pragma once

#include "text/jinja/ast.h"

namespace skua::jinja {

/// Sets uses_caller, uses_varargs and uses_kwargs of a macro or call block whose body is complete.
void note_special_names(Stmt& macro);

}  // namespace skua::jinja
