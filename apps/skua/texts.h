// The texts that a command works on: from arguments, options, files and stdin.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "skua/command_line.h"

namespace skua {

/// The model that arguments and options name (empty: the default one), and the arguments behind it.
struct ModelAndText {
  std::string model;
  std::string text;  // the other arguments, joined with spaces
  bool has_text = false;
};
ModelAndText split_arguments(const CommandInput& input);

bool stdin_is_terminal();
bool stdout_is_terminal();

/// All of stdin. Errors: kIo; kInvalidArgument when it is longer than 1 GiB.
Result<std::string> read_stdin();

}  // namespace skua
