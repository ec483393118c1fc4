// strftime as Python gives it: that of the C library, but for the directives that Python fills in itself.
#include <array>
#include <ctime>

#include "text/jinja/runtime.h"

namespace skua::jinja {
namespace {

std::tm broken_down(const ClockTime& time) {
  std::tm out{};
  out.tm_year = time.year - 1900;
  out.tm_mon = time.month - 1;
  out.tm_mday = time.day;
  out.tm_hour = time.hour;
  out.tm_min = time.minute;
  out.tm_sec = time.second;
  out.tm_wday = time.weekday;
  out.tm_yday = time.day_of_year - 1;
  out.tm_isdst = -1;
  return out;
}

std::string microseconds(const ClockTime& time) {
  const std::string digits = std::to_string(time.microsecond);
  return std::string(6 - std::min<size_t>(digits.size(), 6), '0') + digits;
}

// The end of the directive that begins at `pos`, where a % stands: flags, width, modifier, letter.
size_t directive_end(std::string_view format, size_t pos) {
  size_t end = format.find_first_not_of("_-0^#+", pos + 1);
  end = format.find_first_not_of("0123456789", std::min(end, format.size()));
  end = std::min(end, format.size());
  if (end < format.size() && (format[end] == 'E' || format[end] == 'O')) ++end;
  return std::min(end + 1, format.size());
}

}  // namespace

Result<std::string> format_time(std::string_view format, const ClockTime& time) {
  const std::tm parts = broken_down(time);
  std::string out;
  for (size_t pos = 0; pos < format.size();) {
    if (format[pos] != '%') {
      out += format[pos++];
      continue;
    }
    const std::string directive(format.substr(pos, directive_end(format, pos) - pos));
    pos += directive.size();
    if (directive == "%f") {
      out += microseconds(time);
    } else if (directive != "%z" && directive != "%Z" && directive != "%") {  // a naive time has no zone
      std::array<char, 256> text;
      // The letter in front tells an empty result from one that does not fit.
      const size_t n = std::strftime(text.data(), text.size(), ("x" + directive).c_str(), &parts);
      if (n == 0) return type_error("strftime: '" + directive + "' makes more than 250 characters");
      out.append(text.data() + 1, n - 1);
    } else if (directive == "%") {
      out += directive;
    }
  }
  return out;
}

}  // namespace skua::jinja
