// Arguments in, one command and its option values out; and the help texts. Which options exist is decided in
// base/options, what a command does in its own file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/status.h"

namespace skua {

/// What a command's process ends with.
enum class Exit : int { kOk = 0, kError = 1, kUsage = 2, kInterrupted = 130 };

/// Everything that a command gets.
struct CommandInput {
  OptionValues options;
  std::vector<std::string> arguments;  // those without a dash, in order
};

/// What an option is to one command, where that is not what its table says. Its special value is left out.
struct OptionWords {
  Opt id = Opt::kCount;
  std::string_view help;
  std::string_view choices = {};  // empty: those of the table
};

struct Command {
  std::string_view name;
  std::string_view arguments;  // "[MODEL] [TEXT...]"
  std::string_view summary;    // one line of `skua --help`
  std::string_view details;    // more lines of `skua NAME --help`; may be empty
  size_t max_arguments = 0;
  std::vector<Opt> options;
  Exit (*run)(const CommandInput& input) = nullptr;
  std::vector<OptionWords> words = {};
};

struct CommandLine {
  enum class Wants : uint8_t { kRun, kHelp, kCommandHelp, kVersion };
  Wants wants = Wants::kRun;
  const Command* command = nullptr;  // kRun, kCommandHelp
  CommandInput input;                // kRun
};

/// Reads the arguments after the program's name, then the variables of the command's options. Errors
/// (kInvalidArgument, all of them wrong usage): unknown command or option, a missing or bad value, too many
/// arguments.
Result<CommandLine> read_command_line(std::span<const Command> commands, std::span<const char* const> args);

std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);

/// The word of `words` that `typed` was probably meant to be; empty if none is near.
std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> words);

}  // namespace skua
