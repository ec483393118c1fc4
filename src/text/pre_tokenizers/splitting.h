// What the splitters have in common: matches of a pattern in a piece, and what becomes of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/components.h"

namespace skua::text {

/// What happens to a match of the pattern (HF's SplitDelimiterBehavior).
enum class Behavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Errors: kInvalidArgument for an unknown name.
Result<Behavior> parse_behavior(std::string_view name);

/// A part of a piece: a match, or the text between two.
struct Part {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

/// Fills `parts` with consecutive parts that cover the whole text.
using FindParts = std::function<Status(std::string_view text, std::vector<Part>& parts)>;

/// Splits every piece of `segment`. Errors: those of `find`.
Status split_pieces(Segment& segment, Behavior behavior, const FindParts& find);

/// Every character that `matches` is a match of its own.
template <typename Predicate>
void parts_of_chars(std::string_view text, Predicate matches, std::vector<Part>& parts);

}  // namespace skua::text

#include "text/utf8.h"

namespace skua::text {

template <typename Predicate>
void parts_of_chars(std::string_view text, Predicate matches, std::vector<Part>& parts) {
  size_t last = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    if (!matches(next_char(text, pos))) continue;
    if (last < begin) parts.push_back({last, begin, false});
    parts.push_back({begin, pos, true});
    last = pos;
  }
  if (last < text.size()) parts.push_back({last, text.size(), false});
}

}  // namespace skua::text
