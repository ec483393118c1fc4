// Who runs next. Admission by priority, then order of arrival; one batch per step: every decoding sequence
// (with its guesses), and prompt chunks while tokens are left. When pages run out, cached prefixes go first,
// then the running sequence that is least entitled to run waits again. No device, no clock: tested alone and
// in the simulator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cache/cache_manager.h"
#include "engine/batch.h"
#include "engine/sequence.h"

namespace skua {

struct SchedulerLimits {
  int32_t max_seqs = 1;        // sequences that hold pages at once
  int32_t max_tokens = 512;    // tokens of one step
  int32_t max_waiting = 1024;  // replies that may queue
};

/// Rows of one sequence in a step's logits: row `first` chooses the next token, the ones after it check its
/// draft.
struct RowOwner {
  Sequence* seq = nullptr;
  int32_t first = 0;
  int32_t n_rows = 0;
};

struct ScheduledStep {
  Batch batch;
  std::vector<RowOwner> owners;
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerLimits limits) : limits_(limits) {}

  /// Queues all choices of a request, or none. Error: kResourceExhausted (queue full).
  Status enqueue(std::vector<std::unique_ptr<Sequence>> choices);

  /// Moves waiting sequences into the running set while there are places and, beside running ones, pages for
  /// all of their known tokens. Further choices of a request wait until the first one's prompt has run, to
  /// share its pages. Returns the newly admitted ones, which hold no pages yet.
  std::vector<Sequence*> admit(const CacheManager& cache);

  /// Fills `step` (cleared first) with what runs next; stays empty when nothing can. `propose` fills
  /// seq.draft, at most that many tokens; it may be empty. Errors: kResourceExhausted when a sequence alone
  /// does not fit the pages.
  using Propose = std::function<void(Sequence& seq, int32_t max_tokens)>;
  Status schedule(CacheManager& cache, uint64_t completed_step, const Propose& propose, ScheduledStep& step);

  /// Takes a choice out of the waiting or running set; null if it is in neither.
  std::unique_ptr<Sequence> remove(SeqId request, int32_t choice);

  template <typename Fn>
  void for_each(Fn&& fn) {
    for (auto& seq : running_) fn(*seq);
    for (auto& seq : waiting_) fn(*seq);
  }
  template <typename Fn>
  void for_each_running(Fn&& fn) {
    for (auto& seq : running_) fn(*seq);
  }

  bool idle() const { return waiting_.empty() && running_.empty(); }
  size_t n_waiting() const { return waiting_.size(); }
  size_t n_running() const { return running_.size(); }

 private:
  bool make_room(CacheManager& cache, Sequence& seq, int32_t n_tokens, uint64_t completed_step);
  bool waits_for_first_choice(const Sequence& seq) const;
  void preempt(size_t index, CacheManager& cache, uint64_t completed_step);

  SchedulerLimits limits_;
  std::vector<std::unique_ptr<Sequence>> waiting_;  // most entitled first
  std::vector<std::unique_ptr<Sequence>> running_;  // most entitled first
};

}  // namespace skua
