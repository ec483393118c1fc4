// ChatTemplate over the interpreter in jinja/.
#include "text/chat_template.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace skua {
namespace {

LocalTime system_time() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,           local.tm_hour,
          local.tm_min,         local.tm_sec,     static_cast<int>(micros)};
}

jinja::ClockTime clock_time(const LocalTime& t) {
  jinja::ClockTime out{t.year, t.month, t.day, t.hour, t.minute, t.second, 0, 0, t.microsecond};
  std::tm day{};
  day.tm_year = t.year - 1900;
  day.tm_mon = t.month - 1;
  day.tm_mday = t.day;
  timegm(&day);  // fills in the day of the week and of the year
  out.weekday = day.tm_wday;
  out.day_of_year = day.tm_yday + 1;
  return out;
}

// Python's integers have no end; ours do, and a float in their place would be a quiet change.
bool has_larger_integer(const Json& json) {
  if (json.kind() == Json::Kind::kUint) return json.as_uint() > static_cast<uint64_t>(INT64_MAX);
  if (json.is_array()) return std::any_of(json.items().begin(), json.items().end(), has_larger_integer);
  return json.is_object() &&
         std::any_of(json.members().begin(), json.members().end(),
                     [](const auto& member) { return has_larger_integer(member.second); });
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string source;
  jinja::Template whole;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

const std::string& ChatTemplate::source() const { return parsed_->source; }

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  auto parsed = std::make_unique<Parsed>();
  parsed->source = std::string(source);
  SKUA_ASSIGN_OR_RETURN(parsed->whole, jinja::parse_template(source));
  return ChatTemplate(std::move(parsed));
}

Result<std::string> ChatTemplate::render(const Json& variables, const RenderOptions& options) const {
  if (!variables.is_object()) return invalid_argument("[template] variables must be an object");
  if (has_larger_integer(variables))
    return invalid_argument(
        "[template] an integer among the variables does not fit 64 bits (write it as text)");
  const jinja::Value values = jinja::from_json(variables);
  if (values.depth() > jinja::kMaxDepth)
    return invalid_argument("[template] variables are nested too deeply");
  jinja::Limits limits;
  limits.steps = options.max_steps;
  limits.bytes = options.max_bytes;
  const auto now = options.now ? options.now : system_time;
  jinja::Interpreter interpreter(limits, [now] { return clock_time(now()); });
  return interpreter.render(parsed_->whole, values.as_dict());
}

}  // namespace skua
