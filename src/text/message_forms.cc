// Trying templates, and rewriting messages for them.
#include "text/message_forms.h"

#include <algorithm>

namespace skua::text {
namespace {

constexpr std::string_view kMark = "skua probe text";
constexpr std::string_view kSystemMark = "skua probe rules";

Json message(std::string_view role, Json content) {
  Json out = Json::object();
  out.set("role", role);
  out.set("content", std::move(content));
  return out;
}

Json text_part(std::string_view text) {
  Json part = Json::object();
  part.set("type", "text");
  part.set("text", text);
  return part;
}

Json list_of(std::initializer_list<Json> items) {
  Json out = Json::array();
  for (const Json& item : items) out.push_back(item);
  return out;
}

Json call_message(Json arguments, Json content) {
  Json function = Json::object();
  function.set("name", "probe");
  function.set("arguments", std::move(arguments));
  Json call = Json::object();
  call.set("id", "call00001");
  call.set("type", "function");
  call.set("function", std::move(function));
  Json out = message("assistant", std::move(content));
  out.set("tool_calls", list_of({call}));
  return out;
}

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, const Json& base, const RenderOptions& options)
      : template_(chat_template), base_(base), options_(options) {
    options_.max_steps = std::min(options_.max_steps, kProbeSteps);
    options_.max_bytes = std::min(options_.max_bytes, kProbeBytes);
  }

  /// The prompt of `messages`, or nothing when the template refuses them.
  std::string render(Json messages) {
    if (!exhausted_.ok()) return {};
    Json variables = base_;
    variables.set("messages", std::move(messages));
    variables.set("add_generation_prompt", true);
    const auto out = template_.render(variables, options_);
    if (out.status().code() == Code::kResourceExhausted) exhausted_ = out.status();
    return out.ok() ? *out : std::string();
  }

  bool shows(const Json& messages, std::string_view mark) {
    return render(messages).find(mark) != std::string::npos;
  }

  /// The first time a rendering ran into its bounds; none is tried after that.
  const Status& exhausted() const { return exhausted_; }

 private:
  // A chat of one or two short messages: templates in use need a few thousand steps for it.
  static constexpr uint64_t kProbeSteps = 1'000'000;
  static constexpr uint64_t kProbeBytes = uint64_t{64} << 20;
  const ChatTemplate& template_;
  const Json& base_;
  RenderOptions options_;
  Status exhausted_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void probe_calls(Prober& prober, TemplateTraits& traits) {
  const Json user = message("user", kMark);
  Json object = Json::object();
  object.set("city", "skuaprobe");
  const std::string from_object = prober.render(list_of({user, call_message(object, "")}));
  const std::string from_text = prober.render(list_of({user, call_message(object.dump(), "")}));
  // A mapping pasted into text shows as Python prints it; JSON text passed through tojson shows escaped
  // quotes.
  const bool object_fits = has(from_object, "skuaprobe") && !has(from_object, "{'city'");
  const bool text_fits = has(from_text, "skuaprobe") && !has(from_text, "\\\"city");
  traits.object_arguments = object_fits || !text_fits;
  const Json arguments = traits.object_arguments ? object : Json(object.dump());
  const std::string with_null = prober.render(list_of({user, call_message(arguments, Json())}));
  traits.null_content = has(with_null, "skuaprobe") && !has(with_null, "None");
}

}  // namespace

Result<TemplateTraits> probe_template(const ChatTemplate& chat_template, const Json& base,
                                      const RenderOptions& options) {
  Prober prober(chat_template, base, options);
  TemplateTraits traits;
  const std::string parts = prober.render(list_of({message("user", list_of({text_part(kMark)}))}));
  traits.part_content = has(parts, kMark) && !has(parts, "'type'") && !has(parts, "\"type\"");
  traits.text_content = prober.shows(list_of({message("user", kMark)}), kMark) || !traits.part_content;
  const Json user = message("user", traits.text_content ? Json(kMark) : list_of({text_part(kMark)}));
  const Json rules = traits.text_content ? Json(kSystemMark) : list_of({text_part(kSystemMark)});
  const bool user_alone = prober.shows(list_of({user}), kMark);
  traits.system = prober.shows(list_of({message("system", rules), user}), kSystemMark) || !user_alone;
  probe_calls(prober, traits);
  SKUA_RETURN_IF_ERROR(prober.exhausted());
  return traits;
}

namespace {

Status bad(size_t index, std::string_view what) {
  return invalid_argument("[chat] message " + std::to_string(index) + ": " + std::string(what));
}

// Text of a part list; parts that are not text cannot be shown as text.
Result<std::string> joined_parts(const Json& parts, size_t index) {
  std::string out;
  for (const Json& part : parts.items()) {
    const Json* type = part.find("type");
    const Json* text = part.find("text");
    if (type == nullptr || !type->is_string()) return bad(index, "a content part has no type");
    if (type->as_string() != "text" && type->as_string() != "input_text") {
      return bad(index, "this model's template takes no content of type \"" + type->as_string() + "\"");
    }
    if (text == nullptr || !text->is_string()) return bad(index, "a text part has no text");
    if (!out.empty()) out += "\n";
    out += text->as_string();
  }
  return out;
}

Result<Json> shape_content(const Json* content, const TemplateTraits& traits, size_t index) {
  if (content == nullptr || content->is_null()) return traits.null_content ? Json() : Json("");
  if (content->is_string()) {
    return traits.text_content ? *content : list_of({text_part(content->as_string())});
  }
  if (!content->is_array()) return bad(index, "content must be a text, a list of parts or null");
  if (traits.part_content) return *content;
  SKUA_ASSIGN_OR_RETURN(std::string text, joined_parts(*content, index));
  return Json(std::move(text));
}

// JSON text becomes an object where one is wanted; what is no JSON object stays as it is.
Json shape_arguments(const Json& arguments, const TemplateTraits& traits) {
  if (traits.object_arguments && arguments.is_string()) {
    auto parsed = parse_json(arguments.as_string());
    return parsed.ok() && parsed->is_object() ? std::move(*parsed) : arguments;
  }
  if (!traits.object_arguments && arguments.is_object()) return Json(arguments.dump());
  return arguments;
}

Result<Json> shape_calls(const Json& calls, const TemplateTraits& traits, size_t index) {
  if (!calls.is_array()) return bad(index, "tool_calls must be a list");
  Json out = Json::array();
  for (const Json& call : calls.items()) {
    if (!call.is_object()) return bad(index, "a tool call must be an object");
    Json copy = call;
    if (const Json* function = call.find("function")) {
      if (!function->is_object()) return bad(index, "a tool call's function must be an object");
      Json shaped = *function;
      if (const Json* arguments = function->find("arguments")) {
        shaped.set("arguments", shape_arguments(*arguments, traits));
      }
      copy.set("function", std::move(shaped));
    }
    out.push_back(std::move(copy));
  }
  return out;
}

Result<Json> shape_message(const Json& message, const TemplateTraits& traits, size_t index) {
  if (!message.is_object()) return bad(index, "must be an object");
  const Json* role = message.find("role");
  if (role == nullptr || !role->is_string()) return bad(index, "has no role");
  Json out = message;
  const Json* calls = message.find("tool_calls");
  const bool has_calls = calls != nullptr && !calls->is_null();
  if (message.find("content") != nullptr || !has_calls) {
    SKUA_ASSIGN_OR_RETURN(Json content, shape_content(message.find("content"), traits, index));
    out.set("content", std::move(content));
  } else if (!traits.null_content) {
    out.set("content", "");
  }
  if (has_calls) {
    SKUA_ASSIGN_OR_RETURN(Json shaped, shape_calls(*calls, traits, index));
    out.set("tool_calls", std::move(shaped));
  }
  return out;
}

std::string text_of(const Json& content) {
  if (content.is_string()) return content.as_string();
  std::string out;
  for (const Json& part : content.items()) {
    const Json* text = part.find("text");
    if (text != nullptr && text->is_string()) out += text->as_string();
  }
  return out;
}

bool has_role(const Json& message, std::string_view role) {
  return message.find("role")->as_string() == role;
}

// Puts the text of system messages in front of the user message that follows.
Json merge_system(const Json& messages, const TemplateTraits& traits) {
  Json out = Json::array();
  std::string rules;
  for (const Json& message : messages.items()) {
    if (has_role(message, "system") || has_role(message, "developer")) {
      rules += text_of(*message.find("content")) + "\n\n";
      continue;
    }
    Json copy = message;
    const Json* content = message.find("content");
    if (!rules.empty() && has_role(message, "user") && content != nullptr) {
      if (content->is_array()) {
        Json parts = list_of({text_part(rules)});
        for (const Json& part : content->items()) parts.push_back(part);
        copy.set("content", std::move(parts));
      } else {
        copy.set("content", rules + text_of(*content));
      }
      rules.clear();
    }
    out.push_back(std::move(copy));
  }
  if (!rules.empty()) {  // nobody left to tell: the rules are the user's text
    rules.resize(rules.size() - 2);
    out.push_back(message("user", traits.text_content ? Json(rules) : list_of({text_part(rules)})));
  }
  return out;
}

}  // namespace

Result<Json> shape_messages(const Json& messages, const TemplateTraits& traits) {
  if (!messages.is_array()) return invalid_argument("[chat] messages must be a list");
  Json out = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    SKUA_ASSIGN_OR_RETURN(Json message, shape_message(messages.items()[i], traits, i));
    out.push_back(std::move(message));
  }
  return traits.system ? out : merge_system(out, traits);
}

}  // namespace skua::text
