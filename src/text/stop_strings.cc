// StopMatcher: looks at the text held back plus the new text, lets go of what no stop string can start in.
#include "text/stop_strings.h"

#include <algorithm>

namespace skua {
namespace {

constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 4096;

// Length of the longest end of `text` that is a proper beginning of `stop` (Knuth, Morris, Pratt).
size_t open_tail(std::string_view text, std::string_view stop) {
  std::vector<size_t> failure(stop.size(), 0);
  for (size_t i = 1, k = 0; i < stop.size(); ++i) {
    while (k > 0 && stop[i] != stop[k]) k = failure[k - 1];
    if (stop[i] == stop[k]) ++k;
    failure[i] = k;
  }
  if (text.size() >= stop.size()) text.remove_prefix(text.size() - (stop.size() - 1));
  size_t k = 0;
  for (const char c : text) {
    while (k > 0 && c != stop[k]) k = failure[k - 1];
    if (c == stop[k]) ++k;
  }
  return k;
}

}  // namespace

Result<StopMatcher> StopMatcher::make(std::vector<std::string> stop_strings) {
  if (stop_strings.size() > kMaxStops) return invalid_argument("[stop] more than 64 stop strings");
  for (const std::string& stop : stop_strings) {
    if (stop.empty()) return invalid_argument("[stop] a stop string is empty");
    if (stop.size() > kMaxStopBytes)
      return invalid_argument("[stop] a stop string is longer than 4096 bytes");
  }
  StopMatcher out;
  out.stops_ = std::move(stop_strings);
  return out;
}

const std::string& StopMatcher::matched() const {
  SKUA_CHECK(stopped());
  return stops_[static_cast<size_t>(match_)];
}

// Earliest start; of two that start together the shorter, which is complete first.
StopMatcher::Hit StopMatcher::find_hit() const {
  Hit hit;
  for (size_t i = 0; i < stops_.size(); ++i) {
    const size_t at =
        std::string_view(held_)
            .substr(0, hit.begin == std::string::npos ? held_.size() : hit.begin + stops_[i].size())
            .find(stops_[i]);
    if (at == std::string::npos) continue;
    const bool better = at < hit.begin || stops_[i].size() < stops_[static_cast<size_t>(hit.stop)].size();
    if (better) hit = {at, static_cast<int>(i)};
  }
  return hit;
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped()) return {};
  held_.append(text);
  const Hit hit = find_hit();
  size_t open = held_.size();
  for (const std::string& stop : stops_) open = std::min(open, held_.size() - open_tail(held_, stop));
  // A stop string that began before the one found may still be completed, and would then be the earliest.
  const bool found = hit.stop >= 0 && hit.begin <= open;
  if (found) match_ = hit.stop;
  const size_t release = found ? hit.begin : open;
  std::string out = held_.substr(0, release);
  held_ = found ? std::string() : held_.substr(release);
  return out;
}

std::string StopMatcher::finish() {
  if (stopped()) return {};
  const Hit hit = find_hit();
  match_ = hit.stop;
  std::string out = hit.stop >= 0 ? held_.substr(0, hit.begin) : std::move(held_);
  held_.clear();
  return out;
}

}  // namespace skua
