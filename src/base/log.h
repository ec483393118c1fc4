// Messages for the person at the terminal, on stderr, one line each. Quiet by default: warnings only.
#pragma once

#include <cstdint>
#include <string_view>

namespace skua {

enum class LogLevel : uint8_t { kError, kWarning, kInfo };

/// The least important level that is shown; kWarning at the start.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

/// Writes "skua: error: ...", "skua: warning: ..." or "skua: ..." and a line feed in one piece. Control
/// characters in `text` are shown as \xNN, so that a message is always one line and cannot steer the
/// terminal.
void log(LogLevel level, std::string_view text);

inline void log_error(std::string_view text) { log(LogLevel::kError, text); }
inline void log_warning(std::string_view text) { log(LogLevel::kWarning, text); }
inline void log_info(std::string_view text) { log(LogLevel::kInfo, text); }

}  // namespace skua
