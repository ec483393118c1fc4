// The independent check of a plan's order. Shares no code with hazards.cc: it looks at every pair of uses and
// asks whether the edges force an order, by reachability over bit sets.
#include <map>

#include "plan/plan.h"

namespace skua {
namespace {

using Bits = std::vector<uint64_t>;

/// reach[i] = steps that must come after step i.
std::vector<Bits> reachability(size_t n, std::span<const Edge> edges) {
  const size_t words = (n + 63) / 64;
  std::vector<Bits> reach(n, Bits(words, 0));
  std::vector<std::vector<uint32_t>> next(n);
  for (const auto& [first, second] : edges) next[first].push_back(second);
  for (size_t i = n; i-- > 0;) {
    for (uint32_t j : next[i]) {
      reach[i][j / 64] |= uint64_t{1} << (j % 64);
      for (size_t w = 0; w < words; ++w) reach[i][w] |= reach[j][w];
    }
  }
  return reach;
}

struct Touch {
  uint32_t step;
  const Use* use;
};

Status check_pair(std::span<const Step> steps, const std::vector<Bits>& reach, const Touch& a,
                  const Touch& b) {
  const Touch& first = a.step < b.step ? a : b;
  const Touch& second = a.step < b.step ? b : a;
  if (first.step == second.step) return ok_status();
  if (first.use->access == Access::kRead && second.use->access == Access::kRead) return ok_status();
  const uint64_t begin = std::max(first.use->begin, second.use->begin);
  const uint64_t end = std::min(first.use->end, second.use->end);
  if (begin >= end) return ok_status();
  if ((reach[first.step][second.step / 64] >> (second.step % 64) & 1) != 0) return ok_status();
  return internal_error("[plan] steps " + std::to_string(first.step) + " (" + steps[first.step].label +
                        ") and " + std::to_string(second.step) + " (" + steps[second.step].label +
                        ") both touch bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
                        ") of buffer " + std::to_string(first.use->buffer.value()) + " without an order");
}

}  // namespace

Status verify(std::span<const Step> steps, std::span<const Edge> edges) {
  for (const auto& [first, second] : edges) {
    if (first >= second || second >= steps.size())
      return internal_error("[plan] an edge does not point forward");
  }
  std::map<BufferId, std::vector<Touch>> touches;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    for (const Use& use : steps[i].uses) {
      if (use.phase == Phase::kBeforeWait && use.access != Access::kRead) {
        return internal_error("[plan] step " + std::to_string(i) + " writes before it has waited");
      }
      touches[use.buffer].push_back({i, &use});
    }
  }
  const std::vector<Bits> reach = reachability(steps.size(), edges);
  for (const auto& [buffer, list] : touches) {
    bool written = false;
    for (const Touch& touch : list) written |= touch.use->access != Access::kRead;
    if (!written) continue;
    for (size_t a = 0; a < list.size(); ++a) {
      for (size_t b = a + 1; b < list.size(); ++b)
        SKUA_RETURN_IF_ERROR(check_pair(steps, reach, list[a], list[b]));
    }
  }
  return ok_status();
}

}  // namespace skua
