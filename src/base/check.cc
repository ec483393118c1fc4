// The one place where a failed check ends the process.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace skua {

void check_failed(const char* file, int line, const char* condition, const std::string& operands) {
  std::fprintf(stderr, "skua: bug: %s:%d: check failed: %s%s%s\n", file, line, condition,
               operands.empty() ? "" : " with ", operands.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace skua
