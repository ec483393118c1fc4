// The commands of the program, one file each.
#pragma once

#include <span>

#include "skua/command_line.h"

namespace skua {

std::span<const Command> all_commands();

Exit run_command(const CommandInput& input);      // run.cc
Exit batch_command(const CommandInput& input);    // batch.cc
Exit inspect_command(const CommandInput& input);  // inspect.cc
Exit bench_command(const CommandInput& input);
Exit synth_command(const CommandInput& input);
Exit quantize_command(const CommandInput& input);        // bench.cc
Exit perplexity_command(const CommandInput& input);      // perplexity.cc
Exit tokenize_command(const CommandInput& input);        // tokenize.cc
Exit apply_template_command(const CommandInput& input);  // apply_template.cc
Exit list_command(const CommandInput& input);            // list.cc
Exit arch_command(const CommandInput& input);            // arch.cc

}  // namespace skua
