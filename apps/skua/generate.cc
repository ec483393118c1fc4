// Drives the engine for one request.
#include "skua/generate.h"

#include <cstdio>
#include <random>

#include "base/log.h"
#include "skua/terminal.h"

namespace skua {

Result<Reply> generate(Engine& engine, GenerateRequest request, InterruptGuard* interrupts,
                       const OnText& on_text) {
  SKUA_ASSIGN_OR_RETURN(const SeqId seq, engine.submit(std::move(request)));
  if (interrupts != nullptr) {
    interrupts->watch(engine, seq);
    if (interrupts->take()) engine.cancel(seq);  // it came before the handler knew what to cancel
  }
  Reply reply;
  Status failed;
  while (reply.finish == FinishReason::kNone) {
    for (const StreamEvent& event : engine.step()) {
      reply.text += event.text;
      if (failed.ok() && !event.text.empty()) {
        failed = on_text(event.text);
        if (!failed.ok()) engine.cancel(seq);
      }
      if (event.finish == FinishReason::kNone) continue;
      reply.finish = event.finish;
      reply.usage = event.usage;
      if (failed.ok()) failed = event.status;
    }
  }
  if (interrupts != nullptr) interrupts->forget();
  if (!failed.ok() && reply.finish != FinishReason::kCancelled) return failed;
  if (!failed.ok() && failed.code() != Code::kCancelled) return failed;
  return reply;
}

GenerateRequest request_from(const OptionValues& options) {
  GenerateRequest out;
  out.max_tokens = static_cast<int32_t>(options.integer(Opt::kMaxTokens));
  out.stop = options.texts(Opt::kStop);
  out.sampling.temperature = static_cast<float>(options.number(Opt::kTemperature));
  out.sampling.top_k = static_cast<int32_t>(options.integer(Opt::kTopK));
  out.sampling.top_p = static_cast<float>(options.number(Opt::kTopP));
  out.sampling.min_p = static_cast<float>(options.number(Opt::kMinP));
  out.sampling.repetition_penalty = static_cast<float>(options.number(Opt::kRepetitionPenalty));
  out.sampling.repeat_last_n = static_cast<int32_t>(options.integer(Opt::kRepeatLastN));
  const auto seed = options.seed(Opt::kSeed);
  std::random_device device;
  out.sampling.seed = seed ? *seed : (uint64_t{device()} << 32 | device());
  return out;
}

std::string rates(const Usage& usage) {
  const auto part = [](const char* head, int32_t n, int32_t timed, double seconds) {
    std::string out = head + std::to_string(n) + (n == 1 ? " token" : " tokens");
    if (timed > 0 && seconds > 0) out += ", " + human_rate(timed / seconds) + " tok/s";
    return out;
  };
  const int32_t n_prompt = usage.prompt_tokens - usage.cached_tokens;
  std::string out = part("prompt ", usage.prompt_tokens, n_prompt, usage.prompt_seconds);
  if (usage.cached_tokens > 0) out += " (" + std::to_string(usage.cached_tokens) + " cached)";
  // The first token of a reply comes with the prompt.
  out += part("; reply ", usage.completion_tokens, usage.completion_tokens - 1, usage.decode_seconds);
  if (usage.drafted_tokens > 0) {
    out += " (guessed " + std::to_string(usage.drafted_tokens) + ", right " +
           std::to_string(usage.accepted_tokens) + ")";
  }
  return out;
}

void print_rates(const Usage& usage) { std::fprintf(stderr, "%s\n", rates(usage).c_str()); }

void note_end(const Reply& reply, int32_t context) {
  if (reply.finish != FinishReason::kLength) return;
  if (reply.usage.prompt_tokens + reply.usage.completion_tokens < context) return;  // --max-tokens
  log_warning("the reply stopped because the context of " + std::to_string(context) +
              " tokens is full (prompt " + std::to_string(reply.usage.prompt_tokens) + ", reply " +
              std::to_string(reply.usage.completion_tokens) + ")");
}

}  // namespace skua
