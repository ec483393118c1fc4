// Guessing the next tokens. A wrong guess costs time, never a byte: every guessed token is checked against
// what the model and the sampler choose at its position.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sequence.h"

namespace skua {

/// Where guesses come from.
class Proposer {
 public:
  virtual ~Proposer() = default;

  /// At most `max_tokens` tokens that may follow seq.ids; none is fine.
  virtual std::vector<int32_t> propose(const Sequence& seq, int32_t max_tokens) = 0;

  /// The sequence has ended.
  virtual void forget(const Sequence& seq) = 0;
};

/// Tokens that followed the most recent earlier occurrence of the last few ids (3, else 2), at most
/// `max_tokens`. Empty if they never occurred before. Source: prompt lookup decoding, A. Saxena 2023.
std::vector<int32_t> prompt_lookup(std::span<const int32_t> ids, int32_t max_tokens);

/// Guesses from the text so far.
std::unique_ptr<Proposer> make_prompt_lookup();

struct SpeculationOptions {
  int32_t max_draft = 8;  // at most 15: a verify step has up to 16 rows of one sequence
  int32_t max_running =
      4;  // with more sequences in a step, their tokens fill the time that a guess would use
  int32_t pause_tokens = 32;  // of one sequence, after a step that kept nothing of its guess
};

/// Whether guessing pays on this machine, from the measured time of steps with and without guesses. Only
/// decides how fast a reply comes, never what it says.
class SpeculationGauge {
 public:
  /// One step of one decoding sequence: its time, the tokens it guessed and the tokens it gave (1 or more).
  void record(double seconds, int32_t n_drafted, int32_t n_gained);

  /// False while guesses cost more than they bring; now and then true all the same, to see whether that
  /// changed.
  bool worth_it();

 private:
  double plain_seconds_ = 0;  // smoothed, per token
  double draft_seconds_ = 0;  // smoothed, per token
  int32_t n_draft_steps_ = 0;
  int32_t n_skipped_ = 0;
};

}  // namespace skua
