// Split expressions: the first line is the expression, the rest the text. Matches must lie inside the text,
// in order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/pattern.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 400) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  const auto pattern = skua::text::Pattern::regex(input.substr(0, line));
  if (!pattern.ok()) return 0;
  std::string text;
  skua::text::append_lossy(text, input.substr(std::min(line + 1, input.size())));
  std::vector<skua::text::Part> parts;
  if (!pattern->find_parts(text, parts).ok()) return 0;
  size_t last = 0;
  for (const skua::text::Part& part : parts) {
    SKUA_CHECK_EQ(part.begin, last);
    SKUA_CHECK_LE(part.begin, part.end);
    last = part.end;
  }
  SKUA_CHECK_EQ(last, text.size());
  return 0;
}
