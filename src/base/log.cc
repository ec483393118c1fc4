// Leveled messages on stderr. Every line goes out in one write, so lines of threads do not mix.
#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace skua {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kWarning};

/// Control characters (C0, DEL, C1) as \xNN; other bytes unchanged.
std::string one_line(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == '\n' && i + 1 == text.size()) break;
    const bool after_c2 = i > 0 && static_cast<uint8_t>(text[i - 1]) == 0xc2;
    const bool before_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<uint8_t>(text[i + 1]) < 0xa0;
    const bool is_c1 = after_c2 && byte < 0xa0;
    if (byte >= 0x20 && byte != 0x7f && !before_c1 && !is_c1) {
      out += text[i];
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace

void set_log_level(LogLevel level) { g_level = level; }
bool log_enabled(LogLevel level) { return level <= g_level.load(); }

void log(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) return;
  std::string line = level == LogLevel::kError     ? "skua: error: "
                     : level == LogLevel::kWarning ? "skua: warning: "
                                                   : "skua: ";
  line += one_line(text) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody reads: nothing better to do
    done += static_cast<size_t>(n);
  }
}

}  // namespace skua
