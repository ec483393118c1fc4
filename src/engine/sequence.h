// One accepted request while it lives: its ids, its pages, its decoder. Owned by the engine, touched by its
// thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "cache/page_table.h"
#include "engine/request.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"

namespace skua {

struct Sequence {
  using Clock = std::chrono::steady_clock;

  SeqId id;
  GenerateRequest request;
  std::vector<int32_t> ids;  // prompt, then reply
  int32_t n_prompt = 0;
  int32_t n_cached = 0;                // tokens of `ids` whose keys and values are in the pages
  int32_t n_reused = 0;                // of these, taken over from a cached prefix
  int32_t max_ids = 0;                 // prompt plus most reply tokens
  std::vector<PageTable> pages;        // by cache group
  std::optional<Detokenizer> decoder;  // absent without a tokenizer
  StopMatcher stops;
  Clock::time_point started{}, first_token{};

  int32_t n_generated() const { return static_cast<int32_t>(ids.size()) - n_prompt; }
  bool prefilling() const { return n_cached < n_prompt; }
};

}  // namespace skua
