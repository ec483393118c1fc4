// One reply in the making: its ids, its pages, its decoder. Owned by the scheduler, touched by the engine's
// thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cache/page_table.h"
#include "engine/request.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"

namespace skua {

struct Sequence {
  SeqId request_id;
  int32_t choice = 0;
  uint64_t arrival = 0;  // order among equal priorities; kept over preemptions
  std::shared_ptr<const GenerateRequest> request;
  std::optional<Sampler> sampler;  // with this choice's seed
  std::vector<int32_t> ids;        // prompt, then reply
  int32_t n_prompt = 0;
  int32_t max_ids = 0;                 // prompt plus most reply tokens
  int32_t n_cached = 0;                // tokens of `ids` whose keys and values are in the pages
  std::vector<PageTable> pages;        // by cache group; empty while waiting
  std::vector<int32_t> marks;          // token counts at which a snapshot is still to be kept, ascending
  std::vector<int32_t> draft;          // tokens guessed to follow `ids` in the step that runs
  int32_t draft_pause = 0;             // tokens to go before speculating again
  std::optional<Detokenizer> decoder;  // absent without a tokenizer
  StopMatcher stops;
  Usage usage;
  double submitted = 0, started = -1, first_token = -1;  // seconds of the engine's clock; -1 = not yet
  double deadline = 0;                                   // 0 = none

  int32_t n_generated() const { return static_cast<int32_t>(ids.size()) - n_prompt; }
  /// Tokens that must run before the next one can be chosen: 1 while decoding, more in the prompt or after
  /// preemption.
  int32_t n_pending() const { return static_cast<int32_t>(ids.size()) - n_cached; }
};

}  // namespace skua
