// The program: reads the command line, runs one command, ends with its exit code.
#include <csignal>

#include "base/log.h"
#include "skua/commands.h"
#include "skua/terminal.h"

namespace skua {
namespace {

Exit run_program(std::span<const char* const> args) {
  const auto line = read_command_line(all_commands(), args);
  if (!line.ok()) return fail(line.status(), Exit::kUsage);
  switch (line->wants) {
    case CommandLine::Wants::kHelp:
      return print_and_exit(program_help(all_commands()));
    case CommandLine::Wants::kCommandHelp:
      return print_and_exit(command_help(*line->command));
    case CommandLine::Wants::kVersion:
      return print_and_exit("skua " SKUA_VERSION "\n");
    case CommandLine::Wants::kRun:
      break;
  }
  if (line->input.options.flag(Opt::kVerbose)) set_log_level(LogLevel::kInfo);
  return line->command->run(line->input);
}

}  // namespace
}  // namespace skua

int main(int argc, char** argv) {
  // A reader that goes away (head, say) ends the program without a word, even if the parent ignores SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  const std::span<const char* const> args(argv, static_cast<size_t>(argc));
  return static_cast<int>(skua::run_program(args.subspan(argc > 0 ? 1 : 0)));
}
