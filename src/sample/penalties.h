// Stages that look at the tokens so far: repetition, frequency and presence penalties, and DRY.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/candidates.h"
#include "sample/sampling_params.h"

namespace skua {

/// The tokens before the one to be chosen. Ids outside the row are passed over.
struct History {
  std::span<const int32_t> prompt;
  std::span<const int32_t> generated;

  size_t size() const { return prompt.size() + generated.size(); }
  /// The i-th token from the end, 0 = the newest.
  int32_t newest(size_t i) const {
    return i < generated.size() ? generated[generated.size() - 1 - i]
                                : prompt[prompt.size() - 1 - (i - generated.size())];
  }
  /// Length of a window of `last_n` tokens (-1 = all).
  size_t window(int32_t last_n) const {
    return last_n < 0 || static_cast<size_t>(last_n) > size() ? size() : static_cast<size_t>(last_n);
  }
};

/// For every token in the window: divides a positive logit and multiplies another by the repetition penalty,
/// once; then takes off frequency_penalty times its count and presence_penalty. Count and presence are those
/// among the generated tokens of the window. Source: llama.cpp's penalties sampler, but for the last point,
/// where OpenAI's API is followed.
class Penalties {
 public:
  void apply(const SamplingParams& params, const History& history, Candidates& candidates);

 private:
  std::vector<uint32_t> counts_;  // by id: 0 = not in the window, else 1 + generated occurrences
  std::vector<int32_t> seen_;
};

/// DRY: a token that would lengthen a repeat of the end of the text, of n >= allowed_length tokens, loses
/// multiplier * base^(n - allowed_length). A repeat does not reach across a breaker.
/// Source: P. E. Weidmann, text-generation-webui pull request 5677; breakers as in llama.cpp.
class Dry {
 public:
  void apply(const SamplingParams& params, const History& history, Candidates& candidates);

 private:
  size_t repeat_limit(const SamplingParams& params) const;
  void find_repeats(size_t limit);

  struct Repeat {
    int32_t id;  // what followed
    int32_t length;
  };
  std::vector<int32_t> newest_first_;
  std::vector<int32_t> lengths_;  // lengths_[i]: tokens that newest_first_[i...] shares with its beginning
  std::vector<Repeat> repeats_;
};

}  // namespace skua
