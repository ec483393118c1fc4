// Names that look like a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skua {

/// Up to three of `names` that resemble `wanted`, the nearest first: equal but for case, one inside the
/// other, or few edits apart (a third of the length at most). ASCII case is ignored.
std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names);

}  // namespace skua
