// JSON text from outside (headers, configurations): parsing never crashes, and what was parsed prints to text
// that parses to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = skua::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  const auto again = skua::parse_json(json->dump());
  if (!again.ok() || again->dump() != json->dump()) std::abort();
  return 0;
}
