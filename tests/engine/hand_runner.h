// Batches built by hand: several sequences in one step, several rows per sequence, shared pages. No
// scheduler.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/page_table.h"
#include "engine/family_models.h"
#include "engine/runner.h"

namespace skua::test {

/// The value, or the end of the test program with the error's text.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) check_failed("a test", 0, "result.ok()", result.status().message());
  return std::move(result).value();
}

/// A sequence and how far its pages are filled.
struct HandSeq {
  std::vector<PageTable> tables;  // by cache group
  int32_t n_cached = 0;
};

/// Tokens that one sequence adds in a step.
struct Part {
  HandSeq* seq = nullptr;
  std::vector<int32_t> ids;
};

class HandRunner {
 public:
  HandRunner(const FamilyModel& model, std::unique_ptr<Backend> backend, const RunnerOptions& options)
      : HandRunner(*make_checkpoint(model), std::move(backend), options) {}
  HandRunner(const Checkpoint& checkpoint, std::unique_ptr<Backend> backend, const RunnerOptions& options);

  HandSeq new_seq();
  /// A sequence that shares the first `n_pages` full pages of another.
  HandSeq share(const HandSeq& other, int32_t n_pages);
  /// Ends a sequence of these ids and keeps it as a cached prefix.
  void finish(HandSeq& seq, const std::vector<int32_t>& ids);
  /// A sequence that starts with the longest cached prefix of `ids` (at least one id is left to run).
  HandSeq start(const std::vector<int32_t>& ids);
  /// Lets all pages of a sequence go.
  void drop(HandSeq& seq);
  /// Forgets the newest tokens: rejected drafts.
  void roll_back(HandSeq& seq, int32_t n_cached);

  /// Runs one step and returns the logits of every token of every part, in order. Pages that a window has
  /// left behind are let go first.
  std::vector<std::vector<float>> step(const std::vector<Part>& parts);

  Runner& runner() { return *runner_; }
  const LoadedModel& model() const { return model_; }
  Backend& backend() { return *backend_; }
  int32_t n_vocab() const { return static_cast<int32_t>(model_.info.n_vocab); }

 private:
  std::unique_ptr<Backend> backend_;
  LoadedModel model_;
  std::unique_ptr<Runner> runner_;
};

/// Logits of each position of a prompt, as one run gave them.
using Rows = std::vector<std::vector<float>>;

/// Position of the first row whose bytes differ, or -1.
int first_different_row(const Rows& a, const Rows& b);

/// Random token ids.
std::vector<int32_t> random_ids(uint64_t seed, int32_t n, int32_t n_vocab);

/// Random chunk lengths that add up to n, each at most `most`.
std::vector<int32_t> random_chunks(uint64_t seed, int32_t n, int32_t most);

}  // namespace skua::test
