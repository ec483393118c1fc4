// What the program says and to whom: standard output, one error line, sizes and rates for people, a bar while
// something loads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "skua/command_line.h"

namespace skua {

/// Writes to standard output at once. Errors: kIo with the system's reason.
Status print(std::string_view text);

/// Logs the error as one line and returns the exit code for it.
Exit fail(const Status& status, Exit code = Exit::kError);

/// fail() for what the user gave: wrong usage if the argument is invalid, else an error (a file that cannot
/// be read, say).
Exit fail_input(const Status& status);

/// print(), then the exit code.
Exit print_and_exit(std::string_view text);

/// "93.8 MiB".
std::string human_bytes(uint64_t bytes);

/// "1234.5", "87.2", "3.41": three or more digits.
std::string human_rate(double value);

/// Error (kInvalidArgument) naming the offset of the first byte that is not UTF-8. `what` names the text.
Status check_utf8(std::string_view text, std::string_view what);

/// `text` without control characters other than line feed and tab: what may go to a terminal.
std::string visible(std::string_view text);

/// A bar on stderr that never goes back, gone when the object is. Silent unless stderr is a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string_view label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(uint64_t done, uint64_t total);

 private:
  std::string label_;
  bool shown_ = false;
  bool to_terminal_ = false;
  uint64_t best_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

/// The text of the bar for a line of `width` columns.
std::string bar_text(std::string_view label, uint64_t done, uint64_t total, int width);

}  // namespace skua
