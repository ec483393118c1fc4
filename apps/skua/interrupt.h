// Ctrl-C: a flag, and the running request if there is one. The handler does nothing that is not allowed in
// one.
#pragma once

#include "base/ids.h"

namespace skua {

class Engine;

/// While it lives, SIGINT sets a flag and cancels the watched request instead of ending the program.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// From now on Ctrl-C cancels this request too. `engine` must live until forget().
  void watch(Engine& engine, SeqId seq);
  void forget();

  /// Whether Ctrl-C came since the last call.
  bool take();
};

}  // namespace skua
