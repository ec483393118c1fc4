// Names that came out of a file, made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace skua {

/// The name with control characters and, unless it is valid UTF-8, all other bytes above ASCII as '?'; cut
/// after about 200 bytes.
std::string printable(std::string_view name);

}  // namespace skua
