// Runs a golden case on a backend and says how far its logits are from the reference's.
#pragma once

#include <string>

#include "backend/backend.h"
#include "golden_check/golden_case.h"
#include "plan/plan.h"

namespace skua::golden {

struct RunOptions {
  /// Errors up to this many times the reference's own noise are allowed. Its noise is measured in float32, so
  /// a float32 engine needs about 10; an unrounded float64 engine 2.
  double noise_factor = 10;
  Fusion fusion = Fusion::kOn;
};

/// What one case gave. Positions count generated tokens.
struct Outcome {
  double prompt_error =
      0;  // max |logit - reference| over the known rows of one prefill; NaN counts as infinite
  double step_error = 0;  // the same over the known steps, decoded one token at a time
  double prompt_limit = 0;
  double step_limit = 0;
  double noise = 0;  // the reference's own, the larger of the two
  int n_steps = 0;
  int n_agree = 0;              // greedy choices equal to the reference's, each after the reference's tokens
  int n_undecided = 0;          // positions whose gap lies within the limit: either choice is right
  int first_disagreement = -1;  // first decided position with another choice; -1 = none

  bool pass() const {
    return prompt_error <= prompt_limit && step_error <= step_limit && first_disagreement < 0;
  }
};

/// Errors: those of loading and running the model.
Result<Outcome> run_case(const Case& golden_case, Backend& backend, const RunOptions& options);

/// The same model from another checkpoint (a GGUF file).
Result<Outcome> run_case(const Checkpoint& checkpoint, const Expected& expected, Backend& backend,
                         const RunOptions& options);

}  // namespace skua::golden
