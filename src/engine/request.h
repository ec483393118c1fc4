// What goes into the engine and what comes out. GenerateRequest -> Sequence -> Batch -> logits ->
// StreamEvent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "sample/sampler.h"

namespace skua {

/// Whether the model's own end tokens end a reply. kIgnore: for measuring.
enum class EndTokens : uint8_t { kStop, kIgnore };

/// One request, already tokenized. Owned by the engine after submit().
struct GenerateRequest {
  std::vector<int32_t> prompt_ids;  // at least one
  SamplingParams sampling;
  int32_t max_tokens = -1;        // -1: until a stop or the end of the context
  std::vector<std::string> stop;  // matched on decoded text, earliest wins; not part of the reply
  EndTokens end_tokens = EndTokens::kStop;
  int32_t n_choices = 1;       // replies to one prompt; choice i draws with a seed made of (seed, i)
  int32_t priority = 0;        // higher runs first; equal priorities in order of arrival
  double timeout_seconds = 0;  // from submit(); 0 = none
  bool speculate = true;       // prompt lookup; never changes the reply
};

enum class FinishReason : uint8_t { kNone, kStop, kLength, kCancelled, kError };

/// Token counts and times of one choice.
struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
  int32_t cached_tokens = 0;    // prompt tokens that were taken over from earlier requests
  int32_t drafted_tokens = 0;   // speculated
  int32_t accepted_tokens = 0;  // of these, kept
  int32_t n_preemptions = 0;
  double queue_seconds = 0;   // from submit() to its first step
  double prompt_seconds = 0;  // from its first step to its first token
  double decode_seconds = 0;  // from its first token to its last
};

/// One piece of output. `text` holds whole characters only and may be empty. Exactly one event of a choice
/// has a `finish` other than kNone, and it is the choice's last; with kError, `status` says why.
struct StreamEvent {
  SeqId seq;           // the request
  int32_t choice = 0;  // 0 to n_choices - 1
  std::string text;
  std::vector<int32_t> ids;
  std::vector<SampledToken> logprobs;  // one per id, if sampling.logprobs asks for them
  FinishReason finish = FinishReason::kNone;
  Status status;
  Usage usage;
};

}  // namespace skua
