// The only interface between plans and devices. A backend is one folder beside this file. It says which edge
// types it uses, packs weights once, chooses a kernel for every op, and runs the steps of a plan in a given
// order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/format.h"

namespace skua {

/// Upper bounds that a plan is lowered for; the real counts arrive in StepHeader.
struct Capacity {
  int32_t n_tokens = 1;
  int32_t n_seqs = 1;
  int32_t n_rows = 1;
  int32_t max_pages = 1;  // pages per sequence in each page table
  bool operator==(const Capacity&) const = default;
};

/// Memory of a backend. The base address is what kernels see (host address on CPU backends).
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual std::byte* data() const = 0;
  virtual uint64_t bytes() const = 0;
};

/// A weight in kernel order. `layout` tells kernels where the planes lie within the buffer.
struct PackedWeight {
  struct Layout {
    Format format;
    int64_t rows = 0;
    int64_t cols = 0;
    uint64_t plane_offset[3] = {0, 0, 0};     // from the start of the buffer
    uint64_t plane_row_bytes[3] = {0, 0, 0};  // distance of rows within a plane
  } layout;
  std::shared_ptr<const DeviceBuffer> buffer;
};

/// Arguments of one kernel launch that do not change between runs; each backend derives its own.
struct KernelArgs {
  virtual ~KernelArgs() = default;
};

/// What a kernel gets. `operands` are the addresses of the step's uses, in this order: step inputs
/// (step_inputs(op)), input values, weights (op_weights(op)), output values, the cache slab if the op has a
/// slot, the workspace if the kernel asked for one. Nothing else can be reached. `executor` is the backend's
/// own (thread pool, stream).
struct KernelCall {
  const KernelArgs* args = nullptr;
  std::byte* const* operands = nullptr;
  void* executor = nullptr;
};
using KernelFn = void (*)(const KernelCall& call);

/// A backend's choice for one op at one capacity: pure, printable.
struct KernelChoice {
  KernelFn fn = nullptr;
  std::shared_ptr<const KernelArgs> args;
  std::string kernel;            // "avx2_linear_q4_1_f32"
  uint64_t workspace_bytes = 0;  // scratch for this step, uninitialised
  uint64_t flops = 0;            // at capacity
};

/// Context of choose(): everything that is fixed when a plan is lowered.
struct ChooseContext {
  const Graph* graph = nullptr;
  std::span<const PackedWeight> weights;  // by WeightId
  Capacity capacity;
};

/// Fusions that a backend has kernels for.
struct FusionSet {
  bool add_rms_norm = false;
  bool multi_linear = false;
  bool gated_linear = false;
  bool rope_kv_write = false;
};

/// One step as an executor sees it: addresses resolved.
struct BoundStep {
  KernelFn fn = nullptr;
  const KernelArgs* args = nullptr;
  std::byte* const* operands = nullptr;
};

/// What one way of doing latent attention has done: tokens it served and latent rows it fetched from the
/// cache, both summed over layers and steps. A row that serves several heads or tokens in one visit counts
/// once.
struct LatentPath {
  uint64_t tokens = 0, rows = 0, bytes = 0;
};

/// By path. A token of a sequence that brings one token to a step is "decode", of a longer one "prefill".
struct LatentCounters {
  LatentPath decode;        // absorbed; one thread walks all rows
  LatentPath split_decode;  // absorbed; splits of 256 rows dealt to threads, then merged
  LatentPath prefill;       // absorbed: the exact mode
  LatentPath fast_prefill;  // decompressed
  LatentPath sparse;        // absorbed, over chosen rows alone
  uint64_t merges = 0;      // results of splits, of one head each, that split_decode merged
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;    // "ref", "cpu"
  virtual std::string description() const = 0;  // "cpu avx512, 2 threads, compute f32"
  /// Names the arithmetic: two backends of equal name give equal bytes for equal weights. "cpu native
  /// s8r", "cpu f32".
  virtual std::string arithmetic() const = 0;
  virtual Numerics numerics() const = 0;  // edge types of graphs built for it
  virtual FusionSet fusions() const = 0;

  /// Bytes that one element of an edge takes in this backend's memory (8 on ref, whatever the storage type).
  virtual uint64_t element_bytes(DType storage) const = 0;

  /// Whether the host may read this backend's buffers where they lie, between steps.
  virtual bool memory_is_host() const { return false; }

  /// Bytes of one page (kPageTokens tokens, k and v) of a slot. The order inside is the kernels' own.
  virtual uint64_t cache_page_bytes(const CacheSlot& slot) const = 0;

  /// Errors: kResourceExhausted, naming `what` and the bytes. Contents are undefined.
  virtual Result<std::shared_ptr<DeviceBuffer>> allocate(uint64_t bytes, std::string_view what) = 0;

  /// Copies a weight into kernel order. Errors: kUnsupported (format), kResourceExhausted, kDataLoss (NaN or
  /// infinite values in the weight, naming the first).
  virtual Result<PackedWeight> pack(const EncodedMatrix& source, std::string_view name) = 0;

  /// Chooses the kernel for a node. Errors: kUnsupported, naming the nearest supported combination.
  virtual Result<KernelChoice> choose(const ChooseContext& context, const Node& node) const = 0;

  /// Host memory to the backend's and back; both return when the bytes have arrived.
  virtual Status upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Status download(std::span<std::byte> to, const std::byte* from) = 0;

  /// Copies between two places of the backend's memory; returns when the bytes have arrived.
  virtual Status copy(std::byte* to, const std::byte* from, uint64_t bytes) = 0;

  /// Since the backend was made; all zero on backends that do not count.
  virtual LatentCounters latent_counters() const { return {}; }

  /// Finite numbers that the cache's type cannot hold, each kept as the type's largest of its sign: since the
  /// backend was made. Programs print it where it is not 0.
  virtual uint64_t saturated_cache_values() const { return 0; }

  /// Runs steps in the given order and returns when their results can be read.
  virtual Status run(std::span<const BoundStep> steps, std::span<const uint32_t> order) = 0;
};

}  // namespace skua
