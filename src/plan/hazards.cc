// Derives order from declared uses: read-after-write, write-after-read, write-after-write, by byte range. The
// arena makes write-after-read real: two values may share bytes.
#include <algorithm>
#include <unordered_map>

#include "plan/plan.h"

namespace skua {
namespace {

struct Record {
  uint64_t begin, end;
  uint32_t step;
  Access access;
};

bool conflict(Access a, Access b) { return a != Access::kRead || b != Access::kRead; }

}  // namespace

std::vector<Edge> derive_edges(std::span<const Step> steps) {
  std::unordered_map<BufferId, std::vector<Record>> live;
  std::vector<Edge> edges;
  for (uint32_t j = 0; j < steps.size(); ++j) {
    std::vector<uint32_t> before;
    for (const Use& use : steps[j].uses) {
      for (const Record& r : live[use.buffer]) {
        if (r.begin < use.end && use.begin < r.end && conflict(r.access, use.access))
          before.push_back(r.step);
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (uint32_t i : before) edges.emplace_back(i, j);
    for (const Use& use : steps[j].uses) {
      auto& records = live[use.buffer];
      if (use.access != Access::kRead) {
        // Whoever conflicts with a record inside these bytes also conflicts with this write, which comes
        // after it.
        std::erase_if(records, [&](const Record& r) { return use.begin <= r.begin && r.end <= use.end; });
      }
      records.push_back({use.begin, use.end, j, use.access});
    }
  }
  return edges;
}

}  // namespace skua
