// One line from the person at the terminal, with editing and history.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace skua {

enum class LineOutcome : uint8_t { kLine, kEnd, kInterrupted };  // kEnd: Ctrl-D; kInterrupted: Ctrl-C

/// Line editing on stdin and stdout, which must be a terminal. Lines are UTF-8. History lives as long as the
/// object.
class LineEditor {
 public:
  /// `interrupted` is asked whenever a signal came while waiting for a key: true = it was Ctrl-C, whose
  /// handler (the caller's) must not restart system calls.
  static Result<std::unique_ptr<LineEditor>> open(std::function<bool()> interrupted);
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
