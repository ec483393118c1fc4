// Ctrl-C: a flag, and the running request if there is one. The handler does nothing that is not allowed in
// one.
#pragma once

#include "base/ids.h"

namespace skua {

class Engine;

/// What a second Ctrl-C does while the first one is still to take effect (a step cannot be cut short).
enum class SecondInterrupt : uint8_t { kEndsProgram, kIgnored };

/// While it lives, SIGINT sets a flag and cancels the watched request instead of ending the program.
class InterruptGuard {
 public:
  explicit InterruptGuard(SecondInterrupt second);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// From now on Ctrl-C cancels this request too. `engine` must live until forget().
  void watch(Engine& engine, SeqId seq);
  void forget();

  /// Whether Ctrl-C came since the last call.
  bool take();

  /// Can be read when Ctrl-C came since the last take(): what to wait for besides the keyboard. Whichever
  /// thread the signal went to, and even if it came just before the wait.
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace skua
