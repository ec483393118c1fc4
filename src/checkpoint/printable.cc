// Names in messages: a file may call a tensor anything, and a terminal obeys some bytes.
#include "checkpoint/printable.h"

#include <simdjson.h>

#include <algorithm>

namespace skua {

std::string printable(std::string_view name) {
  constexpr size_t kMaxBytes = 200;
  size_t cut = std::min(name.size(), kMaxBytes);
  // Cut before a character, not inside it.
  for (int i = 0; i < 3 && cut < name.size() && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80; ++i)
    --cut;
  std::string out(name.substr(0, cut));
  const bool is_utf8 = simdjson::validate_utf8(out);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool control = byte < 0x20 || byte == 0x7F;
    // U+0080 to U+009F are control characters too; their first byte is C2.
    const bool wide_control =
        i + 1 < out.size() && byte == 0xC2 && static_cast<unsigned char>(out[i + 1]) < 0xA0;
    if (wide_control) out[i + 1] = '?';
    if (control || wide_control || (byte >= 0x80 && !is_utf8)) out[i] = '?';
  }
  return cut < name.size() ? out + "..." : out;
}

}  // namespace skua
