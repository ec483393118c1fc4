// strftime as the C locale gives it.
#include <array>

#include "text/jinja/runtime.h"

namespace skua::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

std::string padded(int v, int width, char fill = '0') {
  std::string digits = std::to_string(v);
  while (static_cast<int>(digits.size()) < width) digits.insert(digits.begin(), fill);
  return digits;
}

// ISO 8601 year and week.
std::pair<int, int> iso_week(const ClockTime& t) {
  const auto leap = [](int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; };
  const int weekday = (t.weekday + 6) % 7;  // Monday is 0
  const int week = (t.day_of_year - 1 - weekday + 10) / 7;
  if (week < 1) {
    const int year = t.year - 1;
    const int day = t.day_of_year + (leap(year) ? 366 : 365);
    return {year, (day - 1 - weekday + 10) / 7};
  }
  const int days = leap(t.year) ? 366 : 365;
  if (week == 53 && days - t.day_of_year < 3 - weekday) return {t.year + 1, 1};
  return {t.year, week};
}

int hour12(const ClockTime& t) { return t.hour % 12 == 0 ? 12 : t.hour % 12; }
std::string_view day_name(const ClockTime& t) { return kDays[static_cast<size_t>(t.weekday)]; }
std::string_view month_name(const ClockTime& t) { return kMonths[static_cast<size_t>(t.month - 1)]; }

struct Directive {
  char letter;
  std::string (*make)(const ClockTime& t);
};

using T = const ClockTime&;
constexpr Directive kDirectives[] = {
    {'a', [](T t) { return std::string(day_name(t).substr(0, 3)); }},
    {'A', [](T t) { return std::string(day_name(t)); }},
    {'b', [](T t) { return std::string(month_name(t).substr(0, 3)); }},
    {'h', [](T t) { return std::string(month_name(t).substr(0, 3)); }},
    {'B', [](T t) { return std::string(month_name(t)); }},
    {'C', [](T t) { return padded(t.year / 100, 2); }},
    {'d', [](T t) { return padded(t.day, 2); }},
    {'e', [](T t) { return padded(t.day, 2, ' '); }},
    {'f', [](T t) { return padded(t.microsecond, 6); }},
    {'g', [](T t) { return padded(iso_week(t).first % 100, 2); }},
    {'G', [](T t) { return std::to_string(iso_week(t).first); }},
    {'H', [](T t) { return padded(t.hour, 2); }},
    {'I', [](T t) { return padded(hour12(t), 2); }},
    {'j', [](T t) { return padded(t.day_of_year, 3); }},
    {'k', [](T t) { return padded(t.hour, 2, ' '); }},
    {'l', [](T t) { return padded(hour12(t), 2, ' '); }},
    {'m', [](T t) { return padded(t.month, 2); }},
    {'M', [](T t) { return padded(t.minute, 2); }},
    {'n', [](T) { return std::string("\n"); }},
    {'p', [](T t) { return std::string(t.hour < 12 ? "AM" : "PM"); }},
    {'P', [](T t) { return std::string(t.hour < 12 ? "am" : "pm"); }},
    {'S', [](T t) { return padded(t.second, 2); }},
    {'t', [](T) { return std::string("\t"); }},
    {'u', [](T t) { return std::to_string(t.weekday == 0 ? 7 : t.weekday); }},
    {'U', [](T t) { return padded((t.day_of_year + 6 - t.weekday) / 7, 2); }},
    {'V', [](T t) { return padded(iso_week(t).second, 2); }},
    {'w', [](T t) { return std::to_string(t.weekday); }},
    {'W', [](T t) { return padded((t.day_of_year + 6 - (t.weekday + 6) % 7) / 7, 2); }},
    {'y', [](T t) { return padded(t.year % 100, 2); }},
    {'Y', [](T t) { return std::to_string(t.year); }},
    {'Z', [](T) { return std::string(); }},  // a naive time has no zone
    {'z', [](T) { return std::string(); }},
    {'%', [](T) { return std::string("%"); }},
};

bool directive(char c, const ClockTime& t, std::string& out) {
  for (const Directive& known : kDirectives) {
    if (known.letter != c) continue;
    out += known.make(t);
    return true;
  }
  return false;
}

}  // namespace

std::string format_time(std::string_view format, const ClockTime& time) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const char c = format[++i];
    if (c == '-' && i + 1 < format.size()) {  // glibc: no padding
      std::string padded_text;
      if (directive(format[i + 1], time, padded_text)) {
        const size_t first = padded_text.find_first_not_of("0 ");
        out += first == std::string::npos ? "0" : padded_text.substr(first);
        ++i;
        continue;
      }
    }
    std::string_view composite;
    if (c == 'c') composite = "%a %b %e %H:%M:%S %Y";
    if (c == 'D' || c == 'x') composite = "%m/%d/%y";
    if (c == 'F') composite = "%Y-%m-%d";
    if (c == 'R') composite = "%H:%M";
    if (c == 'T' || c == 'X') composite = "%H:%M:%S";
    if (c == 'r') composite = "%I:%M:%S %p";
    if (!composite.empty()) {
      out += format_time(composite, time);
    } else if (!directive(c, time, out)) {
      out += '%';
      out += c;
    }
  }
  return out;
}

}  // namespace skua::jinja
