// Turning rows of logits into tokens for one sequence. Pure but for mirostat's mu: the result depends on the
// logits, the parameters, the tokens so far, the position and the state, never on other requests or earlier
// draws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "sample/candidates.h"
#include "sample/penalties.h"
#include "sample/sampling_params.h"

namespace skua {

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;
};

/// A chosen token. With SamplingParams::logprobs >= 0, `logprob` is its log-softmax of the raw logits (before
/// biases, bans, penalties and temperature; always finite) and `top` are the likeliest by the same measure,
/// best first, whether or not they were allowed. The chosen one need not be among them.
struct SampledToken {
  int32_t id = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;
};

/// What a draw leaves behind. Copy it before a draft and restore it after a rejection.
struct SamplerState {
  double mu = 0;  // mirostat's, in bits
};

class Sampler {
 public:
  /// `n_vocab`: rows of the output matrix. `end_ids`: the model's own; those outside the vocabulary are
  /// passed over. Errors: kInvalidArgument as validate(), and when the bans leave no token.
  static Result<Sampler> make(SamplingParams params, int32_t n_vocab, std::span<const int32_t> end_ids = {});

  /// Picks a token. `logits` [n_vocab] f32; `position` is the index of the token being chosen in the text.
  /// `mask` is empty or has a bit per token (id % 32 of word id / 32), 0 = not allowed.
  /// Errors: kInternal when a logit is NaN or +inf, nothing is allowed, or the sizes are wrong.
  Result<SampledToken> sample(std::span<const float> logits, std::span<const int32_t> prompt,
                              std::span<const int32_t> generated, uint64_t position,
                              std::span<const uint32_t> mask = {});

  int32_t n_vocab() const { return n_vocab_; }
  const SamplingParams& params() const { return params_; }
  SamplerState state() const { return state_; }
  void restore(SamplerState state) { state_ = state; }

 private:
  Sampler(SamplingParams params, int32_t n_vocab);
  Status ban_ids(std::span<const int32_t> end_ids);
  void report_top(SampledToken& out);
  void restrict_ids(size_t n_generated, std::span<const uint32_t> mask);
  bool skips(SamplerStage stage) const;
  void run_stage(SamplerStage stage, const History& history, uint64_t position);

  SamplingParams params_;
  int32_t n_vocab_;
  bool greedy_ = false;
  std::vector<int32_t> always_banned_;
  std::vector<int32_t> early_banned_;  // before min_tokens
  double log_total_ = 0;               // of the raw row
  SamplerState state_;
  Candidates candidates_;
  Penalties penalties_;
  Dry dry_;
};

}  // namespace skua
