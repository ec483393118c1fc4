// Standard output, error lines, sizes for people, and the progress bar.
#include "skua/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"

namespace skua {
namespace {

/// Length of the well-formed character at the start of `text`, or 0 (Unicode 15, table 3-7).
size_t character_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto tail = [&](size_t i) { return at(i) >= 0x80 && at(i) <= 0xbf; };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const uint8_t low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    return at(1) >= low && at(1) <= high && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const uint8_t low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    return at(1) >= low && at(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string with_digits(double value, int decimals) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace

Status print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
  return ok_status();
}

Exit fail(const Status& status, Exit code) {
  log_error(status.message());
  return code;
}

Exit fail_input(const Status& status) {
  return fail(status, status.code() == Code::kInvalidArgument ? Exit::kUsage : Exit::kError);
}

Exit print_and_exit(std::string_view text) {
  const Status status = print(text);
  return status.ok() ? Exit::kOk : fail(status);
}

std::string human_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return with_digits(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string human_rate(double value) { return with_digits(value, value >= 10 ? 1 : 2); }

Status check_utf8(std::string_view text, std::string_view what) {
  for (size_t at = 0; at < text.size();) {
    const size_t n = character_length(text.substr(at));
    if (n == 0) {
      return invalid_argument(std::string(what) + ": expected UTF-8, got a byte that is not at offset " +
                              std::to_string(at) + "; convert the text first (iconv -t UTF-8)");
    }
    at += n;
  }
  return ok_status();
}

std::string visible(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<uint8_t>(text[i + 1]) < 0xa0;
    if (c1) ++i;
    if (!c1 && byte != 0x7f && (byte >= 0x20 || byte == '\n' || byte == '\t')) out += text[i];
  }
  return out;
}

ProgressBar::ProgressBar(std::string_view label) : label_(label), to_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::update(uint64_t done, uint64_t total) {
  if (!to_terminal_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  const bool due = !shown_ || now - last_ > std::chrono::milliseconds(50);
  if (!due) return;
  last_ = now;
  best_ = std::max(best_, std::min(done, total));
  shown_ = true;
  std::fprintf(stderr, "\r%s\x1b[K", bar_text(label_, best_, total, terminal_width()).c_str());
}

std::string bar_text(std::string_view label, uint64_t done, uint64_t total, int width) {
  done = std::min(done, total);
  const double part = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const auto padded = [](const std::string& text, size_t n) {  // so that the bar keeps its length
    return std::string(text.size() < n ? n - text.size() : 0, ' ') + text;
  };
  const std::string right = padded(std::to_string(static_cast<int>(part * 100)), 4) + "% " +
                            padded(human_bytes(done), 10) + " of " + human_bytes(total);
  // The last column stays free: some terminals wrap there.
  const int room = width - 1 - static_cast<int>(label.size() + right.size()) - 4;
  std::string out(label);
  if (room >= 4) {
    const int n = std::min(room, 40), full = static_cast<int>(part * n);
    out += "  [" + std::string(static_cast<size_t>(full), '#') +
           std::string(static_cast<size_t>(n - full), '.') + "]";
  }
  out += right;
  if (static_cast<int>(out.size()) > width - 1) out.resize(static_cast<size_t>(std::max(0, width - 1)));
  return out;
}

}  // namespace skua
