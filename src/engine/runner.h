// Runs batches: picks a capacity, lowers its plan once, keeps plans in a bounded cache, owns caches and
// arena.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/load.h"
#include "engine/step_runner.h"
#include "plan/bind.h"

namespace skua {

struct RunnerOptions {
  int32_t context = 2048;    // tokens of one sequence
  int32_t max_tokens = 512;  // tokens of one step
  int32_t max_seqs = 4;      // sequences of one step and of the cache
  Fusion fusion = Fusion::kOn;
  int32_t cache_tokens = 0;  // of all sequences together; 0 = max_seqs whole contexts; never less than one
};

class Runner final : public StepRunner {
 public:
  /// `model` and `backend` must outlive the runner. Errors: kResourceExhausted (caches, inputs), those of
  /// lowering.
  static Result<std::unique_ptr<Runner>> create(const LoadedModel& model, Backend& backend,
                                                const RunnerOptions& options);

  /// Runs one step. Errors: kInvalidArgument (sizes beyond the options, ids outside the vocabulary),
  /// kInternal.
  Status run(const Batch& batch) override;

  /// In place where the host can read the backend's memory.
  Result<std::span<const float>> logits() override;

  /// The same as float64, which is what `ref` computes in.
  Result<std::vector<double>> logits_f64() const;

  uint64_t page_bytes(uint32_t group) const override;
  Status read_page(uint32_t group, int32_t page, std::span<std::byte> to) override;
  Status write_page(uint32_t group, int32_t page, std::span<const std::byte> from) override;
  uint64_t fingerprint() override;
  std::string_view cache_type() const override;

  CacheManager& cache() override { return *cache_; }
  std::vector<PagePool>& pools() { return cache_->pools(); }  // by group
  size_t n_groups() const { return cache_->pools().size(); }

  Status copy_page(const PageCopy& copy) override;
  uint64_t step() const override { return step_; }

  /// The plan for a step of these sizes (lowered if need be).
  Result<const Plan*> plan_for(int32_t n_tokens, int32_t n_seqs, int32_t n_rows);

  uint64_t cache_bytes() const;
  uint64_t cache_bytes_per_token() const;  // convolutions and recurrent states do not grow with tokens
  uint64_t arena_bytes() const { return arena_ == nullptr ? 0 : arena_->bytes(); }

  /// Tests: from now on each plan runs in a random order that its edges allow; nothing = program order.
  void set_order_seed(std::optional<uint64_t> seed) { order_seed_ = seed; }

  /// Benchmarks: from now on each run() puts the seconds of every step of its plan here, by index, and
  /// `*plan` names the plan; nullptr = no longer.
  struct StepTimes {
    const Plan* plan = nullptr;  // valid until the next run()
    std::vector<double> seconds;
  };
  void set_step_times(StepTimes* times) { step_times_ = times; }

 private:
  struct Entry {
    Plan plan;
    std::unique_ptr<BoundPlan> bound;
    uint64_t arena_version = 0;
    uint64_t last_used = 0;
  };

  template <typename Fn>
  Status for_page(uint32_t group, int32_t page, Fn&& fn);
  Runner(const LoadedModel& model, Backend& backend, const RunnerOptions& options);
  Status allocate();
  Status check(const Batch& batch) const;
  Result<Entry*> entry_for(const Capacity& capacity);
  Status bind(Entry& entry);
  Status run_timed(const Entry& entry);
  Status write_inputs(const Batch& batch);
  Capacity capacity_for(int32_t n_tokens, int32_t n_seqs, int32_t n_rows) const;

  const LoadedModel& model_;
  Backend& backend_;
  RunnerOptions options_;
  int32_t max_pages_ = 1;
  std::unique_ptr<CacheManager> cache_;
  std::vector<std::shared_ptr<DeviceBuffer>> slabs_;   // by slot
  std::vector<uint64_t> slab_bytes_;                   // by slot
  std::vector<std::shared_ptr<DeviceBuffer>> inputs_;  // by StepInput, page tables by group at the end
  std::shared_ptr<DeviceBuffer> arena_;
  uint64_t arena_version_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;
  const Entry* last_ = nullptr;
  size_t last_rows_ = 0;
  uint64_t step_ = 0;
  uint64_t clock_ = 0;
  std::optional<uint64_t> order_seed_;
  StepTimes* step_times_ = nullptr;
  std::vector<float> logits_;         // of backends whose memory the host cannot read
  uint64_t fingerprint_ = 0;          // 0 = not worked out yet
  std::vector<int32_t> scratch_ids_;  // staging of step inputs, kept so that a step allocates nothing
  std::vector<StepSeq> scratch_seqs_;
};

}  // namespace skua
