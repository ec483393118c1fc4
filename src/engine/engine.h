// The engine: one model, its weights, caches and the loop admit -> batch -> run -> sample -> emit (step.cc).
// One thread drives it. cancel() alone may be called from other threads and from signal handlers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "engine/core.h"
#include "engine/request.h"
#include "models/model.h"
#include "plan/plan.h"

namespace skua {

class Runner;
class Tokenizer;
struct ChatTemplateSources;
struct LoadReport;

struct EngineOptions {
  std::string backend = "cpu";        // "cpu" or "ref"
  std::string compute = "auto";       // "auto", "f32" or "native" (cpu), "f64" or "rounded" (ref)
  std::string isa = "auto";           // cpu: "auto", "avx2", "avx512"
  std::string mla_prefill = "exact";  // "exact", "fast": see MlaPrefill
  std::string cache_type = "f32";     // of keys and values of heads: "f32", "f16", "bf16" (cpu)
  int32_t n_threads = 0;              // 0 = one per available CPU
  int32_t context = 0;                // tokens a sequence may hold; 0 = the model's own limit, at most 8192
  int32_t max_seqs = 1;               // sequences held at once
  int32_t cache_tokens = 0;           // tokens of all sequences together; 0 = max_seqs whole contexts
  int32_t prefill_chunk = 512;        // most tokens of one step
  Fusion fusion = Fusion::kOn;
  std::string speculate = "auto";  // "off", "lookup" (from the text so far), "draft" (needs draft), "auto"
                                   // (draft if given, else lookup); never changes a reply
  std::string draft;               // path of a smaller model with the same vocabulary
  int32_t max_draft = 8;           // tokens guessed at a time, 1 to 15
  std::string trace;               // file for a timeline; empty = none
  ConfigPolicy config_policy = ConfigPolicy::kStrict;
};

/// The context to use: what was asked for, or for 0 what EngineOptions says. Error: kInvalidArgument naming
/// both numbers when it is more than the model was made for.
Result<int32_t> resolve_context(int32_t asked, int32_t model_limit);

/// Memory that an engine holds, in bytes.
struct MemoryReport {
  uint64_t weight_bytes = 0;           // packed
  uint64_t cache_bytes = 0;            // all pages
  uint64_t cache_bytes_per_token = 0;  // over all layers
  uint64_t arena_bytes = 0;            // largest plan so far
};

class Engine {
 public:
  /// Loads a model from a directory or file. Errors come from every stage of loading and name it.
  static Result<std::unique_ptr<Engine>> open(const std::filesystem::path& path, const EngineOptions& options,
                                              const Progress& progress = nullptr);

  /// The same for a checkpoint that is already open (tests, golden_check, models made in memory). Without
  /// tokenizer files in it, events carry ids only.
  static Result<std::unique_ptr<Engine>> open(std::unique_ptr<Checkpoint> checkpoint,
                                              const EngineOptions& options,
                                              const Progress& progress = nullptr);
  ~Engine();

  const EngineOptions& options() const;  // as resolved: nothing is 0 or "auto" any more
  const ModelInfo& model() const;
  const LoadReport& load_report() const;
  const Tokenizer* tokenizer() const;                 // nullptr if the checkpoint has none
  const ChatTemplateSources& chat_templates() const;  // both parts empty if the checkpoint has none
  std::string backend_description() const;
  MemoryReport memory() const;

  /// Accepts a request. Errors: kInvalidArgument (empty prompt; ids outside the vocabulary; prompt longer
  /// than the context, naming both numbers; bad sampling or stop strings), kResourceExhausted (queue full).
  /// An accepted request gets exactly one terminal event.
  Result<SeqId> submit(GenerateRequest request);

  /// Ends a request within one step, with kCancelled. Unknown or finished ids do nothing.
  void cancel(SeqId seq);

  /// No more requests are taken; those in flight are finished.
  void drain();

  /// Runs one step and returns its events. With nothing to do, returns at once.
  std::vector<StreamEvent> step();

  /// Ends the timeline file, if there is one. Error: kResourceExhausted if it could not be written to its
  /// end.
  Status finish_trace();

  /// True when no request is waiting or running.
  bool idle() const;

  const CoreCounters& counters() const;
  LatentCounters latent_counters() const;
  uint64_t saturated_cache_values() const;  // see Backend

  /// Text of the plan for a step of `n_tokens` tokens of one sequence.
  enum class PlanFormat : uint8_t { kText, kDot };
  Result<std::string> print_plan(int32_t n_tokens, PlanFormat format);

  /// Saves what is cached of `ids`, or brings a saved state back as a cached prefix (its ids are returned),
  /// so that a conversation goes on where it was left. Errors: see state_file.h.
  Result<int32_t> save_state(std::span<const int32_t> ids, const std::filesystem::path& path);
  Result<std::vector<int32_t>> restore_state(const std::filesystem::path& path);

  /// For tests and tools that build batches by hand. Not to be mixed with requests in flight.
  Runner& runner();

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace skua
