// The Backend of this folder: owns the thread pool and the weight heap, runs steps one after another, each a
// parallel region of its own.
#include "backend/cpu/cpu_backend.h"

#include <cstring>
#include <string>

#include "backend/cpu/choose.h"
#include "backend/cpu/executor.h"
#include "backend/cpu/memory.h"
#include "backend/cpu/pack.h"
#include "base/threads.h"

namespace skua {
namespace {

constexpr int kMaxThreads = 1024;

class CpuBackend final : public Backend {
 public:
  CpuBackend(CpuIsa isa, const CpuOptions& options, int n_threads)
      : pool_(n_threads),
        mla_prefill_(options.mla_prefill),
        cache_(options.cache),
        target_{.table = isa == CpuIsa::kAvx512 ? &cpu::avx512::kernel_table() : &cpu::avx2::kernel_table(),
                .isa = isa,
                .compute = options.compute,
                .n_threads = n_threads,
                .split_latents = options.split_latents} {}

  std::string_view name() const override { return "cpu"; }
  std::string description() const override {
    return "cpu " + std::string(cpu_isa_name(target_.isa)) + ", " + std::to_string(target_.n_threads) +
           (target_.n_threads == 1 ? " thread" : " threads") + ", compute " + compute_name() + cache_name();
  }
  std::string arithmetic() const override {
    // The same on every instruction set; s8r is how activations are rounded (kernels/quantize.h).
    return "cpu " + compute_name() + (target_.compute == CpuCompute::kF32 ? "" : " s8r") + cache_name();
  }
  Numerics numerics() const override {
    Numerics out{.mla_prefill = mla_prefill_};
    if (cache_ != DType::kF32) out.kv_cache = cache_;
    return out;
  }
  FusionSet fusions() const override {
    return {.add_rms_norm = true, .multi_linear = true, .gated_linear = true, .rope_kv_write = true};
  }
  uint64_t element_bytes(DType storage) const override { return dtype_bytes(storage); }
  bool memory_is_host() const override { return true; }
  uint64_t cache_page_bytes(const CacheSlot& slot) const override {
    return static_cast<uint64_t>(page_elements(slot)) * dtype_bytes(slot.storage);
  }

  Result<std::shared_ptr<DeviceBuffer>> allocate(uint64_t bytes, std::string_view what) override {
    return cpu::map_buffer(bytes, what);
  }
  Result<PackedWeight> pack(const EncodedMatrix& source, std::string_view name) override {
    return cpu::pack_weight(source, name, target_.compute, heap_, pool_);
  }
  Result<KernelChoice> choose(const ChooseContext& context, const Node& node) const override {
    return cpu::choose_kernel(target_, context, node);
  }

  Status upload(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return ok_status();
  }
  Status copy(std::byte* to, const std::byte* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return ok_status();
  }

  Status download(std::span<std::byte> to, const std::byte* from) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
    return ok_status();
  }

  LatentCounters latent_counters() const override { return counters_; }
  uint64_t saturated_cache_values() const override { return saturated_; }

  Status run(std::span<const BoundStep> steps, std::span<const uint32_t> order) override {
    cpu::Executor executor{pool_, counters_, saturated_};
    for (const uint32_t index : order) {
      const BoundStep& step = steps[index];
      step.fn({.args = step.args, .operands = step.operands, .executor = &executor});
    }
    return ok_status();
  }

 private:
  std::string compute_name() const {
    return target_.compute == CpuCompute::kF32    ? "f32"
           : target_.compute == CpuCompute::kAuto ? "auto"
                                                  : "native";
  }

  /// Nothing for the default.
  std::string cache_name() const {
    return cache_ == DType::kF32 ? "" : ", cache " + std::string(dtype_name(cache_));
  }

  ThreadPool pool_;
  LatentCounters counters_;
  uint64_t saturated_ = 0;  // kernels add to it atomically
  MlaPrefill mla_prefill_;
  DType cache_;
  cpu::Target target_;
  cpu::WeightHeap heap_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options) {
  if (options.n_threads < 0 || options.n_threads > kMaxThreads) {
    return invalid_argument("[cpu] number of threads: expected 1 to " + std::to_string(kMaxThreads) +
                            " (0 = all), got " + std::to_string(options.n_threads));
  }
  if (options.cache != DType::kF32 && options.cache != DType::kF16 && options.cache != DType::kBF16) {
    return invalid_argument("[cpu] cache of " + std::string(dtype_name(options.cache)) +
                            ": expected f32, f16 or bf16");
  }
  SKUA_ASSIGN_OR_RETURN(const CpuIsa isa, resolve_cpu_isa(options.isa));
  const int n_threads = options.n_threads == 0 ? available_cpus() : options.n_threads;
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(isa, options, n_threads));
}

}  // namespace skua
