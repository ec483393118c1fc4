// Template sources of hostile making: refused with a line, or rendered within their bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/chat_template.h"

namespace {

const skua::Json& variables() {
  static const skua::Json made = *skua::parse_json(R"({"messages": [{"role": "system", "content": "a"},
      {"role": "user", "content": "b\u00e9 \u4f60"}, {"role": "assistant", "content": null, "tool_calls": [
      {"function": {"name": "f", "arguments": {"x": 1, "y": [1.5, true, null]}}}]}],
      "tools": [{"type": "function", "function": {"name": "f"}}], "add_generation_prompt": true, "n": -7, "s": "a b  c"})");
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = skua::ChatTemplate::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) {
    SKUA_CHECK(parsed.status().message().starts_with("[template]"));
    return 0;
  }
  skua::RenderOptions options;
  options.max_steps = 50'000;
  options.max_bytes = 8 << 20;
  options.now = [] { return skua::LocalTime{2024, 7, 9, 5, 6, 7, 0}; };
  const auto out = parsed->render(variables(), options);
  SKUA_CHECK(out.ok() || out.status().message().starts_with("[template]"));
  return 0;
}
