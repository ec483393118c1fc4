// A second, smaller model that guesses for the first. It draws with the same counter-based random numbers, so
// that it guesses right even at high temperatures wherever both models' distributions agree.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "engine/load.h"
#include "engine/runner.h"
#include "engine/speculate.h"
#include "text/tokenizer.h"

namespace skua {

struct DraftOptions {
  int32_t context = 2048;
  int32_t max_seqs = 1;
  int32_t max_tokens = 512;  // of one step
};

class DraftModel final : public Proposer {
 public:
  /// Takes over a loaded model. `backend` must outlive it. Errors: those of Runner::create.
  static Result<std::unique_ptr<DraftModel>> create(LoadedModel model, Backend& backend,
                                                    const DraftOptions& options);

  /// An empty guess when the draft's cache is full or a step fails: guessing is never an error.
  std::vector<int32_t> propose(const Sequence& seq, int32_t max_tokens) override;
  void forget(const Sequence& seq) override;

 private:
  /// What the draft's cache holds of one sequence.
  struct Known {
    std::vector<int32_t> ids;
    std::vector<PageTable> pages;
    std::optional<Sampler> sampler;  // the sequence's, so that both draw alike
  };

  DraftModel(LoadedModel model, const DraftOptions& options) : model_(std::move(model)), options_(options) {}
  Status catch_up(Known& known, std::span<const int32_t> ids, int32_t n_certain);

  LoadedModel model_;
  DraftOptions options_;
  std::unique_ptr<Runner> runner_;
  std::map<std::pair<SeqId, int32_t>, Known> known_;
};

/// A draft must share the main model's vocabulary, id by id. Error: kInvalidArgument naming the first
/// difference.
Status check_same_vocabulary(const Tokenizer& model, const Tokenizer& draft);

}  // namespace skua
