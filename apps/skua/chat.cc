// The loop of the chat: a line or a command in, a reply out, the history in between. What a reply costs and
// how Ctrl-C ends it is generate.cc's.
#include "skua/chat.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "skua/generate.h"
#include "skua/interrupt.h"
#include "skua/line_editor.h"
#include "skua/terminal.h"

namespace skua {
namespace {

constexpr std::array kSettable = {
    Opt::kTemperature, Opt::kTopK, Opt::kTopP,      Opt::kMinP, Opt::kRepetitionPenalty,
    Opt::kRepeatLastN, Opt::kSeed, Opt::kMaxTokens, Opt::kStop, Opt::kSystem};

constexpr std::string_view kHelp =
    "  /set NAME VALUE   change temperature, top-k, top-p, min-p, repetition-penalty, repeat-last-n, seed,\n"
    "                    max-tokens, stop or system\n"
    "  /show             the model, the settings and how full the context is\n"
    "  /clear            forget the conversation\n"
    "  /bye              leave (also Ctrl-D)\n"
    "  \"\"\"               begin and end a message of several lines\n"
    "  Ctrl-C            stop the reply\n";

/// Splits off the first word; `rest` loses it and the spaces behind it.
std::string_view take_word(std::string_view& rest) {
  const size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return word;
}

class Chat {
 public:
  Chat(Engine& engine, const PromptMaker& prompts, const OptionValues& options)
      : engine_(engine), prompts_(prompts), options_(options) {}

  Exit run();

 private:
  enum class Next : uint8_t { kGoOn, kLeave };

  LineOutcome read_message(LineEditor& editor, std::string& text);
  Next command(std::string_view line);
  void set(std::string_view rest);
  Status show() const;
  Status answer(const std::string& text);
  /// The conversation as the template gets it, the system message first.
  Json messages() const;

  Engine& engine_;
  const PromptMaker& prompts_;
  OptionValues options_;
  std::vector<Json> history_;
  int64_t n_used_ = 0;  // tokens of the conversation after the newest reply
  InterruptGuard interrupts_{SecondInterrupt::kIgnored};
};

Exit Chat::run() {
  auto editor = LineEditor::open(interrupts_);
  if (!editor.ok()) return fail(editor.status());
  Status status = print("Send a message (/? for help)\n");
  while (status.ok()) {
    std::string text;
    const LineOutcome outcome = read_message(**editor, text);
    if (outcome == LineOutcome::kEnd) return Exit::kOk;
    if (outcome == LineOutcome::kInterrupted) {
      status = print("Ctrl-D or /bye leaves.\n");
      continue;
    }
    if (outcome == LineOutcome::kGivenUp) {
      status = print("The message is given up.\n");
      continue;
    }
    if (text.find_first_not_of(" \t\n") == std::string::npos) continue;
    if (text[0] == '/') {
      if (command(text) == Next::kLeave) return Exit::kOk;
      continue;
    }
    const Status answered = answer(text);
    if (!answered.ok()) log_error(answered.message());
    interrupts_.take();
  }
  return fail(status);
}

LineOutcome Chat::read_message(LineEditor& editor, std::string& text) {
  constexpr std::string_view kFence = "\"\"\"";
  const LineOutcome first = editor.read(">>> ", text);
  if (first != LineOutcome::kLine) return first;
  if (text.starts_with(kFence)) {
    text.erase(0, kFence.size());
    while (!text.ends_with(kFence)) {
      std::string line;
      const LineOutcome next = editor.read("... ", line);
      if (next != LineOutcome::kLine) return LineOutcome::kGivenUp;
      text += "\n" + line;
    }
    text.resize(text.size() - kFence.size());
  }
  if (!text.empty()) editor.remember(text);
  return LineOutcome::kLine;
}

Chat::Next Chat::command(std::string_view line) {
  std::string_view rest = line;
  const std::string_view name = take_word(rest);
  Status status;
  if (name != "/set" && name.starts_with('/') && !rest.empty()) {
    log_error(std::string(name) + " takes nothing behind it, got '" + std::string(rest) + "'");
    return Next::kGoOn;
  }
  if (name == "/bye" || name == "/exit" || name == "/quit") return Next::kLeave;
  if (name == "/help" || name == "/?") {
    status = print(kHelp);
  } else if (name == "/clear") {
    history_.clear();
    n_used_ = 0;
    status = print("The conversation is forgotten.\n");
  } else if (name == "/show") {
    status = show();
  } else if (name == "/set") {
    set(rest);
  } else {
    log_error("unknown command " + std::string(name) + "; /? lists them");
  }
  return status.ok() ? Next::kGoOn : Next::kLeave;
}

void Chat::set(std::string_view rest) {
  std::string_view name = take_word(rest);
  if (name == "parameter") name = take_word(rest);
  const OptionInfo* option = find_option(name);
  if (option == nullptr || std::find(kSettable.begin(), kSettable.end(), option->id) == kSettable.end()) {
    log_error("/set: expected a setting that /? lists, got '" + std::string(name) + "'");
    return;
  }
  if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') rest = rest.substr(1, rest.size() - 2);
  const Status status = options_.set(option->id, rest, OptionSource::kCommandLine, option->name);
  if (!status.ok()) log_error(status.message());
}

Status Chat::show() const {
  const auto row = [](std::string head, const std::string& text) {
    head.resize(20, ' ');
    return "  " + head + text + "\n";
  };
  std::string out = row("model", engine_.model().model_type);
  out += row("backend", engine_.backend_description());
  out += row("context",
             std::to_string(n_used_) + " of " + std::to_string(engine_.options().context) + " tokens used");
  for (Opt id : kSettable) {
    const OptionInfo& info = option_info(id);
    if (info.type == OptionType::kTextList) {
      for (const std::string& text : options_.texts(id)) out += row(std::string(info.name), text);
    } else {
      out += row(std::string(info.name), options_.text(id));
    }
  }
  return print(out);
}

Json Chat::messages() const {
  Json out = Json::array();
  if (!options_.text(Opt::kSystem).empty()) out.push_back(message("system", options_.text(Opt::kSystem)));
  for (const Json& entry : history_) out.push_back(entry);
  return out;
}

Status Chat::answer(const std::string& text) {
  SKUA_RETURN_IF_ERROR(check_utf8(text, "the message"));
  Json with_message = messages();
  with_message.push_back(message("user", text));
  GenerateRequest request = request_from(options_);
  SKUA_ASSIGN_OR_RETURN(request.prompt_ids, prompts_.chat_ids(with_message, Json()));
  const auto n_prompt = static_cast<int64_t>(request.prompt_ids.size());
  const int64_t room = engine_.options().context;
  if (n_prompt >= room) {
    return resource_exhausted("the conversation has " + std::to_string(n_prompt) +
                              " tokens with this message, the context holds " + std::to_string(room) +
                              "; /clear starts a new conversation, --context N gives more room");
  }
  SKUA_ASSIGN_OR_RETURN(const Reply reply,
                        generate(engine_, std::move(request), &interrupts_,
                                 [](std::string_view piece) { return print(visible(piece)); }));
  history_.push_back(message("user", text));
  history_.push_back(message("assistant", reply.text));
  n_used_ = n_prompt + reply.usage.completion_tokens;
  SKUA_RETURN_IF_ERROR(print("\n"));
  note_end(reply, engine_.options().context);
  print_rates(reply.usage);
  return ok_status();
}

}  // namespace

Exit run_chat(Engine& engine, const PromptMaker& prompts, const OptionValues& options) {
  return Chat(engine, prompts, options).run();
}

}  // namespace skua
