// Stop strings, looked for in the decoded text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua {

/// Finds the earliest occurrence of any stop string in text that arrives in pieces, and holds back what could
/// still become one. Token borders play no part. One per sequence; not thread-safe.
class StopMatcher {
 public:
  /// Errors: kInvalidArgument (an empty stop string; more than 64 of them; one longer than 4096 bytes).
  static Result<StopMatcher> make(std::vector<std::string> stop_strings);

  StopMatcher() = default;

  /// Takes new text and returns what may be shown: everything before the earliest match, or all but the
  /// longest tail that is the beginning of a stop string. The earliest start wins, even if another stop
  /// string is complete first; of two that start together, the shorter. So the result does not depend on how
  /// the text is cut. After a match, returns nothing.
  std::string push(std::string_view text);

  /// The text still held back when the sequence ends. May find a match that waited for a longer one with an
  /// earlier start. Nothing after a match.
  std::string finish();

  bool stopped() const { return match_ >= 0; }
  /// The stop string found. Only when stopped().
  const std::string& matched() const;

 private:
  struct Hit {
    size_t begin = std::string::npos;
    int stop = -1;
  };
  Hit find_hit() const;

  std::vector<std::string> stops_;
  std::string held_;
  int match_ = -1;
};

}  // namespace skua
