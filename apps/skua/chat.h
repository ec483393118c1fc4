// The chat at the terminal.
#pragma once

#include "base/options.h"
#include "engine/engine.h"
#include "skua/command_line.h"
#include "skua/prompt_maker.h"

namespace skua {

/// Talks until /bye or Ctrl-D. stdin and stdout are terminals.
Exit run_chat(Engine& engine, const PromptMaker& prompts, const OptionValues& options);

}  // namespace skua
