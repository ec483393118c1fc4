// Turning one row of logits into a token. Pure: the result depends on the logits, the parameters, the tokens
// so far and the position, never on other requests or earlier draws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace skua {

/// Sampling parameters of one request. Order: repetition penalty, top-k, top-p, min-p, temperature, draw.
struct SamplingParams {
  float temperature = 0.8f;         // 0 = greedy (ties go to the lowest id)
  int32_t top_k = 40;               // 0 = off
  float top_p = 0.95f;              // 1 = off
  float min_p = 0.05f;              // 0 = off
  float repetition_penalty = 1.0f;  // 1 = off; applied once per distinct token of the window
  int32_t repeat_last_n = 64;       // window in tokens; 0 = off, -1 = all
  uint64_t seed = 0;
};

/// Errors: kInvalidArgument naming the parameter, its value and the range.
Status validate(const SamplingParams& params);

/// Uniform number in [0, 1) from a counter-based hash: no state, no order.
double uniform_draw(uint64_t seed, uint64_t position, uint64_t draw);

/// Picks a token. `logits` [n_vocab]; `history` are the ids before it (prompt and reply), newest last;
/// `position` is the index of the token being chosen. Errors: kInternal when the logits hold NaN or no finite
/// value.
Result<int32_t> sample_token(std::span<const float> logits, const SamplingParams& params,
                             std::span<const int32_t> history, uint64_t position);

}  // namespace skua
