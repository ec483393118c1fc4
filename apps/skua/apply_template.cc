// skua apply-template: what the chat template makes of messages.
#include "base/file.h"
#include "engine/text_setup.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/prompt_maker.h"
#include "skua/terminal.h"
#include "skua/texts.h"
#include "text/prompt.h"

namespace skua {
namespace {

/// Puts one member of a chat's object into `out`; the names are those of common chat servers. Errors:
/// kInvalidArgument (a name that is not known, a value of the wrong kind).
Status take_member(ChatRequest& out, const std::string& name, const Json& value) {
  if (name == "messages") return ok_status();
  if (name == "tools" || name == "documents") {
    (name == "tools" ? out.tools : out.documents) = value;
  } else if (name == "chat_template_kwargs") {
    if (!value.is_object()) return invalid_argument("chat_template_kwargs must be an object");
    out.variables = value;
  } else if (name == "add_generation_prompt" || name == "continue_final_message") {
    if (!value.is_bool()) return invalid_argument(name + " must be true or false");
    (name == "add_generation_prompt" ? out.add_generation_prompt : out.continue_final_message) =
        value.as_bool();
    if (out.continue_final_message && name == "continue_final_message") out.add_generation_prompt = false;
  } else {
    return invalid_argument("\"" + name +
                            "\" is not known; known are messages, tools, documents, chat_template_kwargs "
                            "(the template's variables, such as {\"enable_thinking\": false}), "
                            "add_generation_prompt and continue_final_message");
  }
  return ok_status();
}

/// The messages of a JSON file. Errors: those of the file; kInvalidArgument for another shape.
Result<ChatRequest> read_messages(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path, uint64_t{64} << 20));
  auto json = parse_json(text);
  if (!json.ok()) return json.status().with_context(path);
  ChatRequest out;
  const Json* messages = json->is_array() ? &*json : json->find("messages");
  if (messages == nullptr || !messages->is_array()) {
    return invalid_argument(path + ": expected a list of messages, or an object with \"messages\"");
  }
  for (const Json& entry : messages->items()) {
    const Json* role = entry.find("role");
    if (role == nullptr || !role->is_string()) {
      return invalid_argument(path + ": expected every message to be an object with a \"role\", got " +
                              entry.dump());
    }
  }
  out.messages = *messages;
  for (const auto& [name, value] : json->members()) {
    const Status taken = take_member(out, name, value);
    if (!taken.ok()) return taken.with_context(path);
  }
  return out;
}

Result<ChatRequest> conversation(const CommandInput& input, const ModelAndText& what) {
  const OptionValues& options = input.options;
  ChatRequest out;
  if (options.given(Opt::kMessages)) {
    SKUA_ASSIGN_OR_RETURN(out, read_messages(options.text(Opt::kMessages)));
  }
  if (options.given(Opt::kSystem)) {
    Json with_system = Json::array();
    with_system.push_back(message("system", options.text(Opt::kSystem)));
    for (const Json& entry : out.messages.items()) with_system.push_back(entry);
    out.messages = std::move(with_system);
  }
  std::string text = options.text(Opt::kPrompt);
  if (what.has_text) text += (text.empty() ? "" : " ") + what.text;
  if (!text.empty()) out.messages.push_back(message("user", text));
  for (const Json& entry : out.messages.items()) {
    const Json* content = entry.find("content");
    if (content != nullptr && content->is_string()) {
      SKUA_RETURN_IF_ERROR(check_utf8(content->as_string(), "the message"));
    }
  }
  if (out.messages.size() == 0) {
    return invalid_argument("there are no messages: give --messages FILE, or -p TEXT and --system TEXT");
  }
  return out;
}

}  // namespace

Exit apply_template_command(const CommandInput& input) {
  const ModelAndText what = split_arguments(input);
  const auto messages = conversation(input, what);
  if (!messages.ok()) return fail_input(messages.status());
  const auto checkpoint = open_model(input.options, what.model);
  if (!checkpoint.ok()) return fail(checkpoint.status());
  const auto text = load_text(**checkpoint);
  if (!text.ok()) return fail(text.status());
  const auto prompts = PromptMaker::make(text->tokenizer.get(), text->templates, (*checkpoint)->source());
  if (!prompts.ok()) return fail(prompts.status());
  const auto prompt = (*prompts)->prompt(*messages);
  if (!prompt.ok()) return fail(prompt.status());
  const auto ids = (*prompts)->prompt_ids(*prompt);
  if (!ids.ok()) return fail(ids.status());
  Json list = Json::array();
  for (int32_t id : *ids) list.push_back(id);
  if (!input.options.flag(Opt::kJson)) {
    return print_and_exit(prompt->text + "\n\n" + std::to_string(ids->size()) + " tokens: " + list.dump() +
                          "\n");
  }
  Json out = Json::object();
  out.set("prompt", prompt->text);
  out.set("n_tokens", static_cast<int64_t>(ids->size()));
  out.set("ids", std::move(list));
  return print_and_exit(out.dump(2) + "\n");
}

}  // namespace skua
