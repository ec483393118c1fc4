// Printing plans: a listing for people and Graphviz for pictures.
#include <algorithm>
#include <sstream>

#include "plan/plan.h"

namespace skua {
namespace {

const char* access_mark(Access access) {
  switch (access) {
    case Access::kRead:
      return "r";
    case Access::kWrite:
      return "w";
    case Access::kReadWrite:
      return "rw";
  }
  return "?";
}

uint64_t bytes_touched(const Step& step) {
  uint64_t sum = 0;
  for (const Use& use : step.uses) sum += use.end - use.begin;
  return sum;
}

/// How much of the cache is kept in which type: "keys and values of heads bf16, latent rows f32".
std::string cache_types(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const CacheSlot& slot : graph.slots) {
    const char* what = keeps_heads(slot)                   ? "keys and values of heads "
                       : slot.kind == SlotKind::kLatent    ? "latent rows "
                       : slot.kind == SlotKind::kRecurrent ? "recurrent states "
                                                           : "inputs of convolutions ";
    std::string kind = what + std::string(dtype_name(slot.storage));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(std::move(kind));
  }
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "" : ", ") + kind;
  return out.empty() ? "none" : out;
}

}  // namespace

std::string dump(const Plan& plan) {
  std::ostringstream out;
  out << "capacity: " << plan.capacity.n_tokens << " tokens, " << plan.capacity.n_seqs << " sequences, "
      << plan.capacity.n_rows << " rows, " << plan.capacity.max_pages << " pages each\n"
      << "arena: " << plan.arena_bytes << " bytes; steps: " << plan.steps.size()
      << "; edges: " << plan.edges.size() << '\n'
      << "cache: " << cache_types(plan.graph) << '\n';
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    out << i << '\t' << step.label << '\t' << step.op << '\t' << step.kernel << "\tbytes "
        << bytes_touched(step) << "\tflops " << step.flops << "\tuses";
    for (const Use& use : step.uses) {
      const BufferInfo& buffer = plan.buffers[use.buffer.value()];
      out << ' ' << access_mark(use.access) << ':' << buffer.name;
      if (use.begin != 0 || use.end != buffer.bytes) out << '[' << use.begin << ',' << use.end << ')';
    }
    out << '\n';
  }
  return out.str();
}

std::string dump_dot(const Plan& plan) {
  std::ostringstream out;
  out << "digraph plan {\n  node [shape=box, fontname=monospace];\n";
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    out << "  s" << i << " [label=\"" << i << ": " << plan.steps[i].label << "\\n"
        << plan.steps[i].kernel << "\"];\n";
  }
  for (const auto& [first, second] : plan.edges) out << "  s" << first << " -> s" << second << ";\n";
  out << "}\n";
  return out.str();
}

}  // namespace skua
