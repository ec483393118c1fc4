// Which names belong to which frame of a template.
#pragma once

#include "base/status.h"
#include "text/jinja/ast.h"

namespace skua::jinja {

/// Fills in every frame of `whole`, the names a macro's body uses besides its parameters, and the list of
/// blocks. Errors: kInvalidArgument (what Jinja2's compiler refuses: unknown filters and tests outside of
/// `if`, a block defined twice, `loop` set inside of a loop; names the line).
Status settle_frames(Template& whole);

}  // namespace skua::jinja
