// The forms in which a template takes messages, learnt by trying, and messages brought into them.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "text/chat_template.h"

namespace skua::text {

/// What a template can take. Found by rendering short chats with marked texts and looking for the marks.
struct TemplateTraits {
  bool system = true;            // a system message appears in the prompt
  bool text_content = true;      // content may be a text
  bool part_content = false;     // content may be a list of parts
  bool null_content = true;      // content may be null beside tool calls
  bool object_arguments = true;  // tool arguments are wanted as an object, not as JSON text
};

/// `base`: variables every rendering has (special tokens, ...). The bounds of `options` are lowered to what a
/// short chat can need. Errors: kResourceExhausted (the template goes beyond them even so; names its line).
Result<TemplateTraits> probe_template(const ChatTemplate& chat_template, const Json& base,
                                      const RenderOptions& options);

/// Checks messages and brings them into the forms of `traits`. Errors: kInvalidArgument (a message of the
/// wrong form; the message says which).
Result<Json> shape_messages(const Json& messages, const TemplateTraits& traits);

}  // namespace skua::text
