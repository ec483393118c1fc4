// skua run: one reply, or the chat.
#include "base/log.h"
#include "skua/chat.h"
#include "skua/commands.h"
#include "skua/generate.h"
#include "skua/model_source.h"
#include "skua/prompt_maker.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

enum class Mode : uint8_t { kOnce, kChat };

struct Task {
  Mode mode = Mode::kOnce;
  std::string model;
  std::string text;  // kOnce
};

/// The text of options and arguments, then that of stdin. Errors are wrong usage, unless stdin cannot be
/// read.
Result<Task> read_task(const CommandInput& input) {
  const ModelAndText what = split_arguments(input);
  const bool raw = input.options.flag(Opt::kRaw);
  Task task{Mode::kOnce, what.model, input.options.text(Opt::kPrompt)};
  if (what.has_text) task.text += (task.text.empty() ? "" : " ") + what.text;
  if (!stdin_is_terminal()) {
    SKUA_ASSIGN_OR_RETURN(std::string piped, read_stdin());
    if (!raw && piped.ends_with('\n')) piped.pop_back();
    if (!raw && piped.ends_with('\r')) piped.pop_back();
    if (!task.text.empty() && !piped.empty() && !raw) task.text += '\n';
    task.text += piped;
  } else if (task.text.empty() && stdout_is_terminal() && !raw) {
    task.mode = Mode::kChat;
    return task;
  }
  if (task.text.empty()) {
    return invalid_argument(
        "there is no text to answer: give -p TEXT, pipe it in, or run in a terminal to chat");
  }
  SKUA_RETURN_IF_ERROR(check_utf8(task.text, "the prompt"));
  return task;
}

Result<std::vector<int32_t>> prompt_ids(const PromptMaker& prompts, const OptionValues& options,
                                        const std::string& text) {
  if (options.flag(Opt::kRaw)) return prompts.raw_ids(text);
  Json messages = Json::array();
  if (options.given(Opt::kSystem)) messages.push_back(message("system", options.text(Opt::kSystem)));
  messages.push_back(message("user", text));
  return prompts.chat_ids(messages, Json());
}

Exit answer_once(Engine& engine, const PromptMaker& prompts, const OptionValues& options,
                 const std::string& text) {
  GenerateRequest request = request_from(options);
  auto ids = prompt_ids(prompts, options, text);
  if (!ids.ok()) return fail(ids.status());
  request.prompt_ids = std::move(ids).value();
  InterruptGuard interrupts(SecondInterrupt::kEndsProgram);
  const bool to_terminal = stdout_is_terminal();
  const auto reply = generate(engine, std::move(request), &interrupts, [&](std::string_view piece) {
    return to_terminal ? print(visible(piece)) : print(piece);
  });
  if (!reply.ok()) return fail(reply.status());
  const Status status = print("\n");
  if (!status.ok()) return fail(status);
  note_end(*reply, engine.options().context);
  print_rates(reply->usage);
  return reply->finish == FinishReason::kCancelled ? Exit::kInterrupted : Exit::kOk;
}

}  // namespace

Exit run_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const auto task = read_task(input);
  if (!task.ok()) return fail_input(task.status());
  Status system = check_utf8(options.text(Opt::kSystem), "--system");
  for (const std::string& stop : options.texts(Opt::kStop))
    if (system.ok()) system = check_utf8(stop, "--stop");
  if (!system.ok()) return fail(system, Exit::kUsage);
  const auto engine = load_engine(options, task->model, engine_options(options));
  if (!engine.ok()) return fail(engine.status());
  const auto prompts = PromptMaker::make((*engine)->tokenizer(), (*engine)->chat_templates(), "the model");
  if (!prompts.ok()) return fail(prompts.status());
  const Exit exit = task->mode == Mode::kChat ? run_chat(**engine, **prompts, options)
                                              : answer_once(**engine, **prompts, options, task->text);
  report_latents(**engine);
  warn_of_saturation(**engine);
  const Status traced = (*engine)->finish_trace();
  return traced.ok() || exit != Exit::kOk ? exit : fail(traced);
}

}  // namespace skua
