// A plan: the steps of one graph for one backend and one capacity, every operand placed and declared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/ids.h"

namespace skua {

enum class Access : uint8_t { kRead, kWrite, kReadWrite };
enum class Phase : uint8_t { kAfterWait, kBeforeWait };  // kBeforeWait: immutable weights only

/// Bytes [begin, end) of a buffer that a step touches. Operands of a step are exactly its uses.
struct Use {
  BufferId buffer;
  uint64_t begin = 0;
  uint64_t end = 0;
  Access access = Access::kRead;
  Phase phase = Phase::kAfterWait;
};

enum class BufferKind : uint8_t { kWeight, kArena, kCache, kInput };

/// Memory that a plan names. kWeight: index = WeightId; kCache: index = SlotId, the whole slab; kInput: index
/// = StepInput (page tables: kPageTable + cache group); kArena: the one arena, intermediates, workspaces and
/// logits.
struct BufferInfo {
  BufferKind kind = BufferKind::kArena;
  uint32_t index = 0;
  std::string name;
  uint64_t bytes = 0;
};

struct Step {
  KernelFn fn = nullptr;
  std::shared_ptr<const KernelArgs> args;
  std::vector<Use> uses;
  std::string op;      // "rms_norm"
  std::string kernel;  // the backend's name for its choice
  std::string label;   // "layers.3.attn.q"
  uint64_t flops = 0;
};

/// Order constraint: step `first` must be complete before step `second` starts.
using Edge = std::pair<uint32_t, uint32_t>;

struct Plan {
  Capacity capacity;
  Graph graph;  // after fusion; what the steps compute
  std::vector<BufferInfo> buffers;
  std::vector<Step> steps;
  std::vector<Edge> edges;  // derived from the uses
  BufferId arena;
  uint64_t arena_bytes = 0;
  Use output;  // logits [R, n_vocab] within the arena
  int64_t n_vocab = 0;
};

enum class Fusion : uint8_t { kOff, kOn };

/// Lowers `graph` for one backend and capacity: fuse, choose kernels, place intermediates, derive order, and
/// verify it. `cache_group[slot]` is the page table that each slot uses, `slab_bytes[slot]` the size of its
/// slab.
struct LowerRequest {
  const Graph* graph = nullptr;
  const Backend* backend = nullptr;
  std::span<const PackedWeight> weights;
  Capacity capacity;
  Fusion fusion = Fusion::kOn;
  std::vector<uint32_t> cache_group;
  std::vector<uint64_t> slab_bytes;
};
Result<Plan> lower(const LowerRequest& request);

/// Rewrites the fusable patterns of a graph that the backend has kernels for.
Graph fuse(const Graph& graph, const FusionSet& fusions);

/// Order constraints that the uses of these steps imply (read-after-write, write-after-read,
/// write-after-write by byte range), with implied ones left out where cheap.
std::vector<Edge> derive_edges(std::span<const Step> steps);

/// Independent check: every pair of conflicting steps i < j is joined by a path of edges i -> j. Separate
/// code from derive_edges. Error: kInternal naming the first pair and the bytes.
Status verify(std::span<const Step> steps, std::span<const Edge> edges);

/// A random order that respects the edges; equal seeds give equal orders.
std::vector<uint32_t> random_order(size_t n_steps, std::span<const Edge> edges, uint64_t seed);

/// Text listing: step, op, kernel, uses, bytes, FLOPs.
std::string dump(const Plan& plan);

/// Graphviz text of steps and edges.
std::string dump_dot(const Plan& plan);

}  // namespace skua
