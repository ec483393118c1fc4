// skua apply-template: what the chat template makes of messages.
#include "base/file.h"
#include "engine/text_setup.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/prompt_maker.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

struct Conversation {
  Json messages = Json::array();
  Json tools;
};

/// The messages of a JSON file. Errors: those of the file; kInvalidArgument for another shape.
Result<Conversation> read_messages(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path, uint64_t{64} << 20));
  auto json = parse_json(text);
  if (!json.ok()) return json.status().with_context(path);
  Conversation out;
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
  if (const Json* tools = json->find("tools")) out.tools = *tools;
  return out;
}

Result<Conversation> conversation(const CommandInput& input, const ModelAndText& what) {
  const OptionValues& options = input.options;
  Conversation out;
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
  const auto prompt = (*prompts)->chat_text(messages->messages, messages->tools);
  if (!prompt.ok()) return fail(prompt.status());
  const auto ids = (*prompts)->chat_ids(messages->messages, messages->tools);
  if (!ids.ok()) return fail(ids.status());
  Json list = Json::array();
  for (int32_t id : *ids) list.push_back(id);
  if (!input.options.flag(Opt::kJson)) {
    return print_and_exit(*prompt + "\n\n" + std::to_string(ids->size()) + " tokens: " + list.dump() + "\n");
  }
  Json out = Json::object();
  out.set("prompt", *prompt);
  out.set("n_tokens", static_cast<int64_t>(ids->size()));
  out.set("ids", std::move(list));
  return print_and_exit(out.dump(2) + "\n");
}

}  // namespace skua
