// Split behaviours. Source: HF tokenizers 0.23, NormalizedString::split.
#include "text/pre_tokenizers/splitting.h"

#include <algorithm>

namespace skua::text {
namespace {

// Joins a match to its left neighbour (parts in order) or to its right one (parts reversed), unless that
// neighbour is a match too.
void merge_matches(std::vector<Part>& parts) {
  std::vector<Part> merged;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.is_match && !previous && !merged.empty()) {
      merged.back().begin = std::min(merged.back().begin, part.begin);
      merged.back().end = std::max(merged.back().end, part.end);
    } else {
      merged.push_back(part);
    }
    previous = part.is_match;
  }
  parts = std::move(merged);
}

void join_runs(std::vector<Part>& parts) {
  std::vector<Part> joined;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.is_match == previous && !joined.empty()) {
      joined.back().end = part.end;
    } else {
      joined.push_back(part);
    }
    previous = part.is_match;
  }
  parts = std::move(joined);
}

void apply(Behavior behavior, std::vector<Part>& parts) {
  switch (behavior) {
    case Behavior::kIsolated:
      break;
    case Behavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
      break;
    case Behavior::kContiguous:
      join_runs(parts);
      break;
    case Behavior::kMergedWithPrevious:
      merge_matches(parts);
      break;
    case Behavior::kMergedWithNext:
      std::reverse(parts.begin(), parts.end());
      merge_matches(parts);
      std::reverse(parts.begin(), parts.end());
      break;
  }
}

}  // namespace

Result<Behavior> parse_behavior(std::string_view name) {
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return invalid_argument("[tokenizer] unknown split behavior \"" + std::string(name) + "\"");
}

Status split_pieces(Segment& segment, Behavior behavior, const FindParts& find) {
  std::vector<Piece> pieces;
  pieces.reserve(segment.pieces.size());
  std::vector<Part> parts;
  const std::string_view text = segment.text.text();
  for (const Piece& piece : segment.pieces) {
    parts.clear();
    SKUA_RETURN_IF_ERROR(find(text.substr(piece.begin, piece.end - piece.begin), parts));
    apply(behavior, parts);
    for (const Part& part : parts) {
      if (part.begin == part.end) continue;
      pieces.push_back(
          {piece.begin + static_cast<uint32_t>(part.begin), piece.begin + static_cast<uint32_t>(part.end)});
    }
  }
  segment.pieces = std::move(pieces);
  return ok_status();
}

}  // namespace skua::text
