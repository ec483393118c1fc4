// The loop and everything it keeps, over any StepRunner: requests in, events out. Engine wraps it around a
// loaded model, the simulator around scripted logits. One thread drives it; cancel() alone may be called from
// others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/speculate.h"
#include "engine/step_runner.h"
#include "engine/trace.h"
#include "text/tokenizer.h"

namespace skua {

struct CoreOptions {
  int32_t context = 2048;     // tokens a sequence may hold
  int32_t context_limit = 0;  // what the model was made for; 0 = unknown
  int64_t n_vocab = 0;
  int32_t max_seqs = 1;
  int32_t max_tokens = 512;    // of one step
  int32_t max_waiting = 1024;  // replies that may queue
  std::vector<int32_t> end_ids;
  const Tokenizer* tokenizer = nullptr;  // may be null: events carry ids only
  SpeculationOptions speculation;
  Proposer* proposer = nullptr;   // null: no guessing
  Trace* trace = nullptr;         // null: no timeline
  std::function<double()> clock;  // seconds, never going back
};

/// Totals since the start, for metrics.
struct CoreCounters {
  uint64_t n_steps = 0;
  uint64_t n_tokens = 0;  // run through the model
  uint64_t n_rows = 0;    // logits asked for
  uint64_t n_preemptions = 0;
  uint64_t n_drafted = 0;
  uint64_t n_accepted = 0;
  uint64_t n_cached_tokens = 0;
};

class EngineCore {
 public:
  /// `runner` must outlive the core.
  EngineCore(StepRunner& runner, CoreOptions options);

  /// See Engine::submit.
  Result<SeqId> submit(GenerateRequest request);
  void cancel(SeqId request);
  /// No more requests are taken; those in flight are finished.
  void drain() { draining_ = true; }

  /// admit -> batch -> run -> sample -> emit: step.cc.
  std::vector<StreamEvent> step();

  bool idle() const { return scheduler_.idle(); }
  const CoreCounters& counters() const { return counters_; }
  size_t n_waiting() const { return scheduler_.n_waiting(); }
  size_t n_running() const { return scheduler_.n_running(); }

 private:
  Status check(const GenerateRequest& request) const;
  void apply_cancels_and_deadlines();
  Status admit();
  void propose(Sequence& seq, int32_t max_tokens);
  Status sample();
  void record_speculation(double seconds, size_t n_gained);
  void sample_rows(const RowOwner& owner, std::span<const float> logits, size_t n_vocab);
  enum class Accepted : uint8_t { kGoesOn, kFinished };
  Accepted accept_token(Sequence& seq, SampledToken token);
  void count_draft(Sequence& seq, int32_t n_accepted);
  void give_up_what_is_unneeded();
  void finish(SeqId request, int32_t choice, FinishReason reason, Status status = ok_status());
  void trace_request(const Sequence& seq, double now) const;
  void trace_step(double begin) const;
  void fail_all(const Status& status);

  StepRunner& runner_;
  CoreOptions options_;
  Scheduler scheduler_;
  ScheduledStep step_;
  SpeculationGauge gauge_;
  std::vector<StreamEvent> events_;
  CoreCounters counters_;
  uint64_t next_request_ = 1;
  uint64_t next_arrival_ = 0;
  bool draining_ = false;
  // Requests to cancel, written by cancel() without a lock: a slot holds an id or 0. There are as many as
  // replies that can wait and run together.
  std::vector<std::atomic<uint64_t>> cancels_;
};

}  // namespace skua
