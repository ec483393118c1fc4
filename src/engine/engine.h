// The engine: one model, its weights, caches and the loop admit -> batch -> run -> sample -> emit.
// Not thread-safe: one thread drives it; cancel() alone may be called from others (also from a signal
// handler).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "engine/request.h"
#include "models/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace skua {

enum class ConfigPolicy : uint8_t { kStrict, kAllowUnknown };  // what to do with config keys nobody knows

struct EngineOptions {
  std::string backend = "cpu";   // "cpu" or "ref"
  std::string compute = "auto";  // "auto", "f32"
  std::string isa = "auto";      // cpu: "auto", "avx2", "avx512"
  int32_t n_threads = 0;         // 0 = one per available CPU
  int32_t context = 0;           // tokens a sequence may hold; 0 = the model's own limit, at most 8192
  int32_t max_seqs = 1;          // sequences held at once
  int32_t prefill_chunk = 512;   // most prompt tokens of one step
  bool fusion = true;
  ConfigPolicy config_policy = ConfigPolicy::kStrict;
};

/// Memory that an engine holds or would hold, in bytes.
struct MemoryReport {
  uint64_t weight_bytes = 0;
  uint64_t cache_bytes = 0;            // all pages
  uint64_t cache_bytes_per_token = 0;  // over all layers
  uint64_t arena_bytes = 0;            // largest plan
};

class Engine {
 public:
  /// Loads a model from a resolved path. Errors come from every stage of loading and name it.
  static Result<std::unique_ptr<Engine>> open(const std::filesystem::path& path, const EngineOptions& options,
                                              const Progress& progress = nullptr);
  /// The same for a checkpoint that is already open (tests, golden_check, in-memory models). Tokenizer and
  /// template are optional then: without a tokenizer events carry ids only.
  static Result<std::unique_ptr<Engine>> open(std::unique_ptr<Checkpoint> checkpoint,
                                              const EngineOptions& options,
                                              const Progress& progress = nullptr);
  ~Engine();

  const EngineOptions& options() const;  // as resolved: nothing is 0 or "auto" any more
  const ModelInfo& model() const;
  const Tokenizer* tokenizer() const;         // nullptr if the checkpoint has none
  const ChatTemplate* chat_template() const;  // nullptr if the checkpoint has none
  std::string backend_description() const;
  MemoryReport memory() const;
  int32_t context() const;  // tokens a sequence may hold

  /// Accepts a request. Errors: kInvalidArgument (empty prompt, ids outside the vocabulary, prompt longer
  /// than the context: both numbers are named, bad sampling), kResourceExhausted (queue full). An accepted
  /// request gets exactly one terminal event.
  Result<SeqId> submit(GenerateRequest request);

  /// Ends a request within one step, with kCancelled.
  void cancel(SeqId seq);

  /// Runs one step and returns its events. With nothing to do, returns at once.
  std::vector<StreamEvent> step();

  /// True when no request is waiting or running.
  bool idle() const;

  /// Text of the plan for a step of `n_tokens` tokens in one sequence: dump() or dump_dot().
  enum class PlanFormat : uint8_t { kText, kDot };
  Result<std::string> print_plan(int32_t n_tokens, PlanFormat format);

  /// Per-op times of the steps so far, as text; empty unless profiling was asked for by the caller.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace skua
