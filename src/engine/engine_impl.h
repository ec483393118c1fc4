// The engine's parts, shared by engine.cc (life and requests) and step.cc (the loop). Nobody else includes
// this.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/load.h"
#include "engine/runner.h"
#include "engine/scheduler.h"
#include "engine/text_setup.h"

namespace skua {

struct Engine::Impl {
  EngineOptions options;
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Backend> backend;
  LoadedModel model;
  TextSetup text;
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<StreamEvent> events;
  std::vector<int32_t> end_ids;
  uint64_t next_seq = 1;
  // Ids to cancel, written by cancel() without a lock: a slot holds an id or 0.
  std::array<std::atomic<uint64_t>, 64> cancels{};

  void apply_cancels();
  /// Starts waiting sequences, with what is cached of their prompts.
  Status admit();
  void fail_all(const Status& status);
  /// Samples a token for each logit row and emits what it gives.
  Status sample(const ScheduledStep& step);
  void accept_token(Sequence& seq, int32_t id);
  void finish(SeqId id, FinishReason reason, Status status = ok_status());
  void drop_windows();
};

}  // namespace skua
