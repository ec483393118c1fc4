// Arguments and stdin as texts.
#include "skua/texts.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace skua {

ModelAndText split_arguments(const CommandInput& input) {
  ModelAndText out{input.options.text(Opt::kModel)};
  size_t first = 0;
  // An option -m leaves every argument to the text; a variable only stands in for a missing argument.
  if (input.options.source(Opt::kModel) != OptionSource::kCommandLine && !input.arguments.empty()) {
    out.model = input.arguments[0];
    first = 1;
  }
  for (size_t i = first; i < input.arguments.size(); ++i) {
    if (out.has_text) out.text += ' ';
    out.text += input.arguments[i];
    out.has_text = true;
  }
  return out;
}

bool stdin_is_terminal() { return isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

Result<std::string> read_stdin() {
  constexpr size_t kMost = size_t{1} << 30;
  std::string out;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n == 0) return out;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EBADF) return out;  // started with stdin closed
    if (n < 0) return io_error(std::string("cannot read standard input: ") + std::strerror(errno));
    out.append(buffer.data(), static_cast<size_t>(n));
    if (out.size() > kMost) return invalid_argument("standard input holds more than 1 GiB of text");
  }
}

}  // namespace skua
