// Names in messages: a file may call a tensor anything.
#include "checkpoint/printable.h"

namespace skua {

std::string printable(std::string_view name) {
  constexpr size_t kMaxBytes = 200;
  std::string out(name.substr(0, kMaxBytes));
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return name.size() > kMaxBytes ? out + "..." : out;
}

}  // namespace skua
