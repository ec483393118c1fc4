// Taking requests, ending them, and what happens between steps. The loop itself is step.cc.
#include "engine/core.h"

#include <algorithm>
#include <cmath>

#include "sample/random.h"

namespace skua {
namespace {

constexpr int32_t kMaxChoices = 128;

/// The seed of a choice; choice 0 keeps the request's, so that n does not change the first reply.
uint64_t choice_seed(uint64_t seed, int32_t choice) {
  if (choice == 0) return seed;
  return static_cast<uint64_t>(uniform_draw(seed, static_cast<uint64_t>(choice), 1) * 0x1.0p53);
}

}  // namespace

EngineCore::EngineCore(StepRunner& runner, CoreOptions options)
    : runner_(runner),
      options_(std::move(options)),
      scheduler_({options_.max_seqs, options_.max_tokens, options_.max_waiting}),
      cancels_(static_cast<size_t>(options_.max_waiting) + static_cast<size_t>(options_.max_seqs)) {}

Status EngineCore::check(const GenerateRequest& request) const {
  const auto n_prompt = static_cast<int64_t>(request.prompt_ids.size());
  if (draining_)
    return resource_exhausted("[request] the engine is shutting down; no more requests are taken");
  if (n_prompt == 0) return invalid_argument("[request] the prompt is empty; at least one token is needed");
  if (n_prompt >= options_.context) {
    return invalid_argument(
        "[request] the prompt has " + std::to_string(n_prompt) + " tokens, but the context holds " +
        std::to_string(options_.context) + " and the reply needs at least one; shorten the prompt" +
        (options_.context < options_.context_limit
             ? " or raise --context (the model was made for " + std::to_string(options_.context_limit) + ")"
             : ", the model was made for no more"));
  }
  const auto check_ids = [&](const std::vector<int32_t>& ids, const char* what) {
    for (int32_t id : ids) {
      if (id >= 0 && id < options_.n_vocab) continue;
      return invalid_argument("[request] " + std::string(what) + " " + std::to_string(id) +
                              " is outside the vocabulary of " + std::to_string(options_.n_vocab));
    }
    return ok_status();
  };
  SKUA_RETURN_IF_ERROR(check_ids(request.prompt_ids, "token id"));
  if (request.max_tokens == 0 || request.max_tokens < -1) {
    return invalid_argument("[request] max tokens must be at least 1 (or -1 for no limit), got " +
                            std::to_string(request.max_tokens));
  }
  if (request.n_choices < 1 || request.n_choices > kMaxChoices) {
    return invalid_argument("[request] the number of choices must be 1 to " + std::to_string(kMaxChoices) +
                            ", got " + std::to_string(request.n_choices));
  }
  if (!(request.timeout_seconds >= 0) || std::isinf(request.timeout_seconds)) {
    return invalid_argument("[request] the timeout must be 0 (none) or a number of seconds");
  }
  if (!request.stop.empty() && options_.tokenizer == nullptr) {
    return invalid_argument("[request] stop strings need a tokenizer, and the checkpoint has none");
  }
  return validate(request.sampling, options_.n_vocab);
}

Result<SeqId> EngineCore::submit(GenerateRequest request) {
  SKUA_RETURN_IF_ERROR(check(request));
  const auto shared = std::make_shared<const GenerateRequest>(std::move(request));
  const SeqId id(next_request_);
  const int64_t n_prompt = static_cast<int64_t>(shared->prompt_ids.size());
  const int64_t wanted = shared->max_tokens < 0 ? options_.context : n_prompt + shared->max_tokens;
  std::vector<std::unique_ptr<Sequence>> choices;
  for (int32_t choice = 0; choice < shared->n_choices; ++choice) {
    auto seq = std::make_unique<Sequence>();
    SKUA_ASSIGN_OR_RETURN(seq->stops, StopMatcher::make(shared->stop));
    if (options_.tokenizer != nullptr) seq->decoder.emplace(*options_.tokenizer);
    seq->request_id = id;
    seq->choice = choice;
    seq->arrival = next_arrival_++;
    seq->request = shared;
    SamplingParams sampling = shared->sampling;
    sampling.seed = choice_seed(shared->sampling.seed, choice);
    SKUA_ASSIGN_OR_RETURN(seq->sampler,
                          Sampler::make(std::move(sampling), options_.n_vocab, options_.end_ids));
    seq->ids = shared->prompt_ids;
    seq->n_prompt = static_cast<int32_t>(n_prompt);
    seq->max_ids = static_cast<int32_t>(std::min<int64_t>(wanted, options_.context));
    seq->submitted = options_.clock();
    if (shared->timeout_seconds > 0) seq->deadline = seq->submitted + shared->timeout_seconds;
    seq->usage.prompt_tokens = seq->n_prompt;
    choices.push_back(std::move(seq));
  }
  SKUA_RETURN_IF_ERROR(scheduler_.enqueue(std::move(choices)));
  ++next_request_;
  return id;
}

void EngineCore::cancel(SeqId request) {
  for (auto& slot : cancels_) {
    uint64_t empty = 0;
    if (slot.compare_exchange_strong(empty, request.value()) || empty == request.value()) return;
  }
}

void EngineCore::apply_cancels_and_deadlines() {
  struct End {
    SeqId request;
    int32_t choice;
    bool cancelled;
  };
  std::vector<End> ends;
  for (auto& slot : cancels_) {
    if (slot.load(std::memory_order_relaxed) == 0) continue;
    const uint64_t id = slot.exchange(0);
    scheduler_.for_each([&](const Sequence& seq) {
      if (seq.request_id.value() == id) ends.push_back({seq.request_id, seq.choice, true});
    });
  }
  const double now = options_.clock();
  scheduler_.for_each([&](const Sequence& seq) {
    if (seq.deadline > 0 && now >= seq.deadline) ends.push_back({seq.request_id, seq.choice, false});
  });
  for (const End& end : ends) {
    if (end.cancelled)
      finish(end.request, end.choice, FinishReason::kCancelled);
    else
      finish(end.request, end.choice, FinishReason::kError,
             resource_exhausted("[request] the time limit was reached"));
  }
}

Status EngineCore::admit() {
  CacheManager& cache = runner_.cache();
  for (Sequence* seq : scheduler_.admit(cache)) {
    seq->pages = cache.new_tables();
    // The last known token always runs: its logits are needed.
    const auto n_known = static_cast<int32_t>(seq->ids.size());
    const CachedStart start = cache.start(seq->ids, n_known - 1, seq->pages, runner_.step());
    for (const PageCopy& copy : start.copies) SKUA_RETURN_IF_ERROR(runner_.copy_page(copy));
    seq->n_cached = start.n_tokens;
    seq->marks = cache.snapshot_marks(start, n_known);
    if (seq->started >= 0) continue;  // comes back from preemption
    seq->started = options_.clock();
    seq->usage.cached_tokens = std::min(start.n_tokens, seq->n_prompt);
    counters_.n_cached_tokens += static_cast<uint64_t>(seq->usage.cached_tokens);
  }
  return ok_status();
}

void EngineCore::propose(Sequence& seq, int32_t max_tokens) {
  if (options_.proposer == nullptr || !seq.request->speculate || seq.n_generated() == 0) return;
  if (seq.draft_pause > 0) {
    --seq.draft_pause;
    return;
  }
  if (n_running() > static_cast<size_t>(options_.speculation.max_running) || !gauge_.worth_it()) return;
  // No guess reaches past the reply's last token.
  const int32_t room = seq.max_ids - static_cast<int32_t>(seq.ids.size()) - 1;
  seq.draft = options_.proposer->propose(seq, std::min({max_tokens, room, options_.speculation.max_draft}));
}

void EngineCore::count_draft(Sequence& seq, int32_t n_accepted) {
  const auto n_drafted = static_cast<int32_t>(seq.draft.size());
  seq.usage.drafted_tokens += n_drafted;
  seq.usage.accepted_tokens += n_accepted;
  counters_.n_drafted += static_cast<uint64_t>(n_drafted);
  counters_.n_accepted += static_cast<uint64_t>(n_accepted);
  if (n_drafted > 0 && n_accepted == 0) seq.draft_pause = options_.speculation.pause_tokens;
}

void EngineCore::give_up_what_is_unneeded() {
  CacheManager& cache = runner_.cache();
  scheduler_.for_each_running([&](Sequence& seq) {
    while (!seq.marks.empty() && seq.marks.front() <= seq.n_cached) {
      cache.prefixes().insert(seq.ids, seq.marks.front(), seq.pages, runner_.step());
      seq.marks.erase(seq.marks.begin());
    }
    cache.drop_windows(seq.pages, seq.n_cached, runner_.step());
  });
  for (PagePool& pool : cache.pools()) pool.reclaim(runner_.step());
}

void EngineCore::finish(SeqId request, int32_t choice, FinishReason reason, Status status) {
  const std::unique_ptr<Sequence> seq = scheduler_.remove(request, choice);
  if (seq == nullptr) return;
  // A sequence that failed leaves nothing behind that others could take over.
  const int32_t n_kept =
      reason == FinishReason::kError ? 0 : std::min(seq->n_cached, static_cast<int32_t>(seq->ids.size()));
  runner_.cache().finish(seq->ids, n_kept, seq->pages, runner_.step());
  StreamEvent event{request, choice};
  if (seq->decoder && !seq->stops.stopped()) {
    event.text = seq->stops.push(seq->decoder->finish());
    event.text += seq->stops.finish();
  }
  event.finish = reason;
  event.status = std::move(status);
  event.usage = seq->usage;
  event.usage.completion_tokens = seq->n_generated();
  const double now = options_.clock();
  if (seq->started >= 0) event.usage.queue_seconds = seq->started - seq->submitted;
  if (seq->first_token >= 0) {
    event.usage.prompt_seconds = seq->first_token - seq->started;
    event.usage.decode_seconds = now - seq->first_token;
  }
  counters_.n_preemptions += static_cast<uint64_t>(seq->usage.n_preemptions);
  if (options_.proposer != nullptr) options_.proposer->forget(*seq);
  if (options_.trace != nullptr) trace_request(*seq, now);
  events_.push_back(std::move(event));
}

void EngineCore::trace_request(const Sequence& seq, double now) const {
  const uint64_t track = seq.request_id.value();
  const double started = seq.started < 0 ? now : seq.started;
  options_.trace->span("queue", track, seq.submitted, started, {{"choice", seq.choice}});
  if (seq.started < 0) return;
  const double first = seq.first_token < 0 ? now : seq.first_token;
  options_.trace->span("prompt", track, started, first,
                       {{"tokens", seq.n_prompt}, {"cached", seq.usage.cached_tokens}});
  if (seq.first_token < 0) return;
  options_.trace->span("decode", track, first, now,
                       {{"tokens", seq.n_generated()},
                        {"drafted", seq.usage.drafted_tokens},
                        {"accepted", seq.usage.accepted_tokens},
                        {"preempted", seq.usage.n_preemptions}});
}

void EngineCore::fail_all(const Status& status) {
  std::vector<std::pair<SeqId, int32_t>> all;
  scheduler_.for_each([&](const Sequence& seq) { all.emplace_back(seq.request_id, seq.choice); });
  for (const auto& [request, choice] : all) finish(request, choice, FinishReason::kError, status);
}

}  // namespace skua
