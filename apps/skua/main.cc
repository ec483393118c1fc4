// The program: reads the command line, runs one command, ends with its exit code.
#include <fcntl.h>

#include <csignal>

#include "base/log.h"
#include "skua/commands.h"
#include "skua/option_rules.h"
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
  const Status rules = check_option_rules(line->input.options);
  if (!rules.ok()) return fail(rules, Exit::kUsage);
  if (line->input.options.flag(Opt::kVerbose)) set_log_level(LogLevel::kInfo);
  return line->command->run(line->input);
}

}  // namespace
}  // namespace skua

int main(int argc, char** argv) {
  // With stdin, stdout or stderr closed, the next file to be opened would take its number and get what is
  // printed. What goes to a closed stdout is an error then, not lost without a word.
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0)
      return static_cast<int>(skua::Exit::kError);
  }
  // A reader that goes away (head, say) ends the program without a word, even if the parent ignores SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  const std::span<const char* const> args(argv, static_cast<size_t>(argc));
  return static_cast<int>(skua::run_program(args.subspan(argc > 0 ? 1 : 0)));
}
