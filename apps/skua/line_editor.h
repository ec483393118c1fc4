// One line from the person at the terminal, with editing and history.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "skua/interrupt.h"

namespace skua {

enum class LineOutcome : uint8_t {
  kLine,
  kEnd,
  kInterrupted,
  kGivenUp
};  // kEnd: Ctrl-D; kInterrupted: Ctrl-C

/// Line editing on stdin and stdout, which must be a terminal. Lines are UTF-8. History lives as long as the
/// object.
class LineEditor {
 public:
  /// `interrupts` is watched while waiting for a key, and must outlive the editor.
  static Result<std::unique_ptr<LineEditor>> open(InterruptGuard& interrupts);
  ~LineEditor();

  /// Reads a line, without its line feed.
  LineOutcome read(const std::string& prompt, std::string& line);

  /// Adds an entry to what the up key brings back.
  void remember(const std::string& line);

  struct State;  // of line_editor.cc

 private:
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skua
