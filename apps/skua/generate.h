// One request, from submit to its terminal event.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/options.h"
#include "base/status.h"
#include "engine/engine.h"
#include "skua/interrupt.h"

namespace skua {

struct Reply {
  std::string text;
  FinishReason finish = FinishReason::kNone;
  Usage usage;
};

/// Gets each piece of the reply as it comes. An error ends the request.
using OnText = std::function<Status(std::string_view)>;

/// Runs one request while nothing else runs. Ctrl-C, where a guard is given, ends it with kCancelled, which
/// is no error. Errors: those of submit() and of on_text, and what a terminal event says.
Result<Reply> generate(Engine& engine, GenerateRequest request, InterruptGuard* interrupts,
                       const OnText& on_text);

/// Sampling parameters and limits from options; the prompt is left empty. A random seed is drawn here.
GenerateRequest request_from(const OptionValues& options);

/// "prompt 34 tokens, 210.3 tok/s; reply 8 tokens, 95.1 tok/s".
std::string rates(const Usage& usage);

/// Writes the rates on stderr.
void print_rates(const Usage& usage);

/// Warns when a reply ended because the context is full.
void note_end(const Reply& reply, int32_t context);

}  // namespace skua
