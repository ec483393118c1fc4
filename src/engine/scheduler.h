// Who runs next: admission in order of arrival, then one batch per step: every decoding sequence, and prompt
// chunks while tokens are left. Small and without a device, so that it can be tested alone.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "cache/cache_manager.h"
#include "engine/batch.h"
#include "engine/sequence.h"

namespace skua {

struct SchedulerLimits {
  int32_t max_seqs = 1;        // sequences that hold pages at once
  int32_t max_tokens = 512;    // tokens of one step
  int32_t max_waiting = 1024;  // requests that may queue
};

/// A batch and, for each of its logit rows, the sequence that the row belongs to.
struct ScheduledStep {
  Batch batch;
  std::vector<Sequence*> row_owner;
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerLimits limits) : limits_(limits) {}

  /// Error: kResourceExhausted when the queue is full.
  Status enqueue(std::unique_ptr<Sequence> seq);

  /// Moves waiting sequences into the running set while there is room. Returns the newly admitted ones.
  std::vector<Sequence*> admit();

  /// The next step's batch; empty when nothing can run. Extends page tables. Errors: kResourceExhausted
  /// (pages).
  Result<ScheduledStep> schedule(CacheManager& cache, uint64_t completed_step);

  /// Takes a sequence out of the waiting or running set.
  std::unique_ptr<Sequence> remove(SeqId id);

  template <typename Fn>
  void for_each_running(Fn&& fn) {
    for (auto& seq : running_) fn(*seq);
  }

  bool idle() const { return waiting_.empty() && running_.empty(); }
  std::vector<SeqId> all() const;

 private:
  SchedulerLimits limits_;
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;
};

}  // namespace skua
