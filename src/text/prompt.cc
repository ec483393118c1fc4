// PromptBuilder: choosing the template, giving it its variables, cutting the prefill, encoding.
#include "text/prompt.h"

#include <algorithm>

#include "text/control_text.h"
#include "text/message_forms.h"

namespace skua {
namespace {

struct NamedTemplate {
  std::string name;
  ChatTemplate chat_template;
  text::TemplateTraits traits;
};

// Variables that every rendering has: the special tokens' texts.
Json special_token_variables(const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special_ids();
  Json out = Json::object();
  const auto set = [&](const char* name, std::optional<int32_t> id) {
    if (id) out.set(name, tokenizer.token_text(*id));
  };
  set("bos_token", ids.bos);
  set("eos_token", ids.eos.empty() ? std::nullopt : std::optional(ids.eos[0]));
  set("unk_token", ids.unk);
  set("pad_token", ids.pad);
  out.set("tools", Json());
  out.set("documents", Json());
  return out;
}

bool is_trusted_role(const Json& message) {
  const Json* role = message.find("role");
  if (role == nullptr || !role->is_string()) return false;
  const std::string& name = role->as_string();
  return name == "assistant" || name == "system" || name == "developer";
}

Json mark_messages(const Json& messages, const text::ControlMarker& marker, ControlText policy) {
  Json out = Json::array();
  for (const Json& message : messages.items()) {
    const bool trusted = policy == ControlText::kLiteralFromUsers && is_trusted_role(message);
    Json copy = trusted ? message : marker.mark(message);
    if (const Json* role = message.find("role")) copy.set("role", *role);
    out.push_back(std::move(copy));
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  static constexpr std::string_view kSpace = " \t\n\r\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// Cuts `prompt` behind the text of the final message, as transformers' continue_final_message does.
Status cut_after(std::string& prompt, const Json& messages) {
  if (messages.items().empty()) return invalid_argument("[chat] there is no final message to continue");
  const Json* content = messages.items().back().find("content");
  if (content != nullptr && content->is_array() && !content->items().empty()) {
    content = content->items().back().find("text");
  }
  if (content == nullptr || !content->is_string())
    return invalid_argument("[chat] the final message has no text to continue");
  const std::string_view whole = content->as_string(), core = trimmed(whole);
  const size_t at = prompt.rfind(core);
  if (at == std::string::npos) {
    return invalid_argument(
        "[chat] the template does not show the final message as it is, so it cannot be continued");
  }
  const std::string_view from_core =
      whole.substr(core.empty() ? 0 : static_cast<size_t>(core.data() - whole.data()));
  const bool keeps_tail = std::string_view(prompt).substr(at).starts_with(from_core);
  prompt.resize(at + (keeps_tail ? from_core.size() : core.size()));
  return ok_status();
}

// Templates go over tools and documents as lists of objects; a text would be gone over letter by letter.
Status check_list(const Json& list, const std::string& name) {
  if (list.is_null()) return ok_status();
  const bool fits = list.is_array() && std::all_of(list.items().begin(), list.items().end(),
                                                   [](const Json& item) { return item.is_object(); });
  return fits ? ok_status() : invalid_argument("[chat] " + name + " must be a list of objects");
}

Result<std::vector<NamedTemplate>> parse_sources(const ChatTemplateSources& sources) {
  std::vector<NamedTemplate> out;
  const auto add = [&](std::string name, std::string_view source) -> Status {
    SKUA_ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::parse(source));
    out.push_back({std::move(name), std::move(parsed), {}});
    return ok_status();
  };
  if (sources.file) {
    SKUA_RETURN_IF_ERROR(add("default", *sources.file));
  } else if (sources.config.is_string()) {
    SKUA_RETURN_IF_ERROR(add("default", sources.config.as_string()));
  } else if (sources.config.is_array()) {
    for (const Json& item : sources.config.items()) {
      const Json* name = item.find("name");
      const Json* source = item.find("template");
      if (name == nullptr || !name->is_string() || source == nullptr || !source->is_string()) {
        return invalid_argument("[chat] chat_template must be a text or a list of {name, template}");
      }
      SKUA_RETURN_IF_ERROR(add(name->as_string(), source->as_string()));
    }
  } else if (!sources.config.is_null()) {
    return invalid_argument("[chat] chat_template must be a text or a list of {name, template}");
  }
  if (out.empty()) return not_found("[chat] the model has no chat template");
  return out;
}

}  // namespace

struct PromptBuilder::State {
  const Tokenizer& tokenizer;
  std::vector<NamedTemplate> templates;
  Json base;  // variables of every rendering
  std::vector<std::string> control_texts;
  RenderOptions options;

  const NamedTemplate* named(std::string_view name) const {
    const auto found =
        std::find_if(templates.begin(), templates.end(), [&](const auto& t) { return t.name == name; });
    return found == templates.end() ? nullptr : &*found;
  }

  const NamedTemplate& choose(const ChatRequest& request) const {
    const bool tools = request.tools.is_array() && request.tools.size() > 0;
    if (const NamedTemplate* found = tools ? named("tool_use") : nullptr) return *found;
    if (const NamedTemplate* found = named("default")) return *found;
    return templates.front();
  }
};

PromptBuilder::PromptBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
PromptBuilder::PromptBuilder(PromptBuilder&&) noexcept = default;
PromptBuilder& PromptBuilder::operator=(PromptBuilder&&) noexcept = default;
PromptBuilder::~PromptBuilder() = default;

Result<PromptBuilder> PromptBuilder::make(const ChatTemplateSources& sources, const Tokenizer& tokenizer,
                                          RenderOptions options) {
  SKUA_ASSIGN_OR_RETURN(std::vector<NamedTemplate> templates, parse_sources(sources));
  auto state =
      std::make_unique<State>(State{tokenizer, std::move(templates), special_token_variables(tokenizer),
                                    tokenizer.control_texts(), std::move(options)});
  for (NamedTemplate& named : state->templates) {
    SKUA_ASSIGN_OR_RETURN(named.traits,
                          text::probe_template(named.chat_template, state->base, state->options));
  }
  return PromptBuilder(std::move(state));
}

Result<Prompt> PromptBuilder::render(const ChatRequest& request) const {
  if (request.continue_final_message && request.add_generation_prompt) {
    return invalid_argument("[chat] a final message is either continued or answered, not both");
  }
  SKUA_RETURN_IF_ERROR(check_list(request.tools, "tools"));
  SKUA_RETURN_IF_ERROR(check_list(request.documents, "documents"));
  const NamedTemplate& chosen = state_->choose(request);
  SKUA_ASSIGN_OR_RETURN(Json messages, text::shape_messages(request.messages, chosen.traits));
  SKUA_ASSIGN_OR_RETURN(
      const text::ControlMarker marker,
      text::ControlMarker::make(state_->control_texts, messages, chosen.chat_template.source()));
  if (request.control_text != ControlText::kParsed)
    messages = mark_messages(messages, marker, request.control_text);
  Json variables = state_->base;
  for (const auto& [name, value] : request.variables.members()) variables.set(name, value);
  if (!request.tools.is_null()) variables.set("tools", request.tools);
  if (!request.documents.is_null()) {
    variables.set("documents", request.control_text == ControlText::kParsed ? request.documents
                                                                            : marker.mark(request.documents));
  }
  variables.set("add_generation_prompt", request.add_generation_prompt);
  variables.set("messages", messages);
  SKUA_ASSIGN_OR_RETURN(std::string text, chosen.chat_template.render(variables, state_->options));
  if (request.continue_final_message) SKUA_RETURN_IF_ERROR(cut_after(text, messages));
  Prompt out;
  out.text = marker.unmark(text, out.breaks);
  return out;
}

Result<std::vector<int32_t>> PromptBuilder::encode(const Prompt& prompt) const {
  return state_->tokenizer.encode(prompt.text,
                                  {.add_special = false, .parse_special = true, .breaks = prompt.breaks});
}

}  // namespace skua
