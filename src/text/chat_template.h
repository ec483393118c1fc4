// Chat templates: Jinja2 as Hugging Face transformers sets it up.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace skua {

/// A local time, for strftime_now in templates.
struct LocalTime {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, microsecond = 0;
};

/// What a rendering may depend on besides its variables, and its bounds. A template is untrusted input.
struct RenderOptions {
  std::function<LocalTime()> now;            // the system's clock when empty
  uint64_t max_steps = 10'000'000;           // nodes evaluated and text handled, in rough units
  uint64_t max_bytes = uint64_t{512} << 20;  // text and lists made during the rendering, freed or not
};

/// A parsed template. Immutable: render() may be called from many threads.
///
/// The language is Jinja2 3.1 in an immutable sandbox with trim_blocks, lstrip_blocks, loop controls, the
/// generation tag, tojson without HTML escapes, raise_exception and strftime_now; names mean what Jinja2's
/// compiler makes of them (jinja/frames.h). Not there: autoescape other than off, and the filter random,
/// because a prompt must not depend on chance. extends, include, import and from fail when they are reached,
/// as they do there: a chat template has no others to load.
class ChatTemplate {
 public:
  /// Errors: kInvalidArgument (syntax), kUnsupported (autoescape that is not off); the message
  /// names the line and the construct.
  static Result<ChatTemplate> parse(std::string_view source);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// `variables`: an object; each member becomes a variable.
  /// Errors: kInvalidArgument (the template did something wrong, or called raise_exception: the message holds
  /// the line and the template's own words); kResourceExhausted (a bound of `options`, or nesting).
  Result<std::string> render(const Json& variables, const RenderOptions& options = {}) const;

  const std::string& source() const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace skua
