// The loop: admit -> batch -> run -> sample -> emit. Start reading here.
#include <algorithm>

#include "engine/core.h"

namespace skua {

std::vector<StreamEvent> EngineCore::step() {
  events_.clear();
  apply_cancels_and_deadlines();
  Status status = admit();
  if (status.ok()) {
    const auto propose_draft = [this](Sequence& seq, int32_t max_tokens) { propose(seq, max_tokens); };
    status = scheduler_.schedule(runner_.cache(), runner_.step(), propose_draft, step_);
  }
  if (status.ok() && !step_.batch.ids.empty()) {
    const double begin = options_.clock();
    status = runner_.run(step_.batch);
    const size_t n_events = events_.size();
    if (status.ok()) status = sample();
    record_speculation(options_.clock() - begin, events_.size() - n_events);
    give_up_what_is_unneeded();
    if (options_.trace != nullptr) trace_step(begin);
    ++counters_.n_steps;
    counters_.n_tokens += step_.batch.ids.size();
    counters_.n_rows += step_.batch.rows.size();
  }
  if (!status.ok()) fail_all(status);
  return std::move(events_);
}

void EngineCore::record_speculation(double seconds, size_t n_gained) {
  // Only steps of one decoding sequence tell what a guess costs.
  if (step_.owners.size() != 1 || step_.batch.seqs.size() != 1) return;
  const int32_t n_rows = step_.owners[0].n_rows;
  if (n_rows != static_cast<int32_t>(step_.batch.ids.size())) return;
  gauge_.record(seconds, n_rows - 1, static_cast<int32_t>(n_gained));
}

void EngineCore::trace_step(double begin) const {
  const PagePool& pool = runner_.cache().pools()[0];
  options_.trace->span("step", 0, begin, options_.clock(),
                       {{"tokens", static_cast<int64_t>(step_.batch.ids.size())},
                        {"rows", static_cast<int64_t>(step_.batch.rows.size())},
                        {"sequences", static_cast<int64_t>(step_.batch.seqs.size())},
                        {"pages", pool.n_pages() - pool.n_free()}});
}

Status EngineCore::sample() {
  if (step_.batch.rows.empty()) return ok_status();
  SKUA_ASSIGN_OR_RETURN(const std::span<const float> logits, runner_.logits());
  const size_t n_vocab = logits.size() / step_.batch.rows.size();
  for (const RowOwner& owner : step_.owners) sample_rows(owner, logits, n_vocab);
  return ok_status();
}

void EngineCore::sample_rows(const RowOwner& owner, std::span<const float> logits, size_t n_vocab) {
  Sequence& seq = *owner.seq;
  // Row j chooses the token after the j-th guess. A guess that the choice confirms makes the next row valid.
  for (int32_t row = 0; row < owner.n_rows; ++row) {
    const auto row_logits = logits.subspan(static_cast<size_t>(owner.first + row) * n_vocab, n_vocab);
    const std::span<const int32_t> ids = seq.ids;
    const auto n_prompt = static_cast<size_t>(seq.n_prompt);
    auto token = seq.sampler->sample(row_logits, ids.first(n_prompt), ids.subspan(n_prompt), ids.size());
    if (!token.ok()) return finish(seq.request_id, seq.choice, FinishReason::kError, token.status());
    const bool confirmed = row < owner.n_rows - 1 && token->id == seq.draft[static_cast<size_t>(row)];
    if (!confirmed) {
      // Rows after this one stand on guesses that did not come true: their keys and values are forgotten.
      seq.n_cached = static_cast<int32_t>(seq.ids.size());
      count_draft(seq, row);
    }
    if (accept_token(seq, *std::move(token)) == Accepted::kFinished || !confirmed) return;
  }
}

EngineCore::Accepted EngineCore::accept_token(Sequence& seq, SampledToken token) {
  const int32_t id = token.id;
  if (seq.first_token < 0) {
    seq.first_token = options_.clock();
    // From now on others may take over the prompt; its last page is copied then, so that this one can go on.
    runner_.cache().prefixes().insert(seq.ids, seq.n_prompt, seq.pages, runner_.step());
  }
  seq.ids.push_back(id);
  const auto ends = [id](const std::vector<int32_t>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  const auto done = [&](FinishReason reason) {
    finish(seq.request_id, seq.choice, reason);
    return Accepted::kFinished;
  };
  const bool model_ends = seq.request->end_tokens == EndTokens::kStop && ends(options_.end_ids);
  if (model_ends || ends(seq.request->sampling.stop_ids)) return done(FinishReason::kStop);
  StreamEvent event{seq.request_id, seq.choice, "", {id}};
  if (seq.request->sampling.logprobs >= 0) event.logprobs.push_back(std::move(token));
  if (seq.decoder) event.text = seq.stops.push(seq.decoder->push(id));
  events_.push_back(std::move(event));
  if (seq.stops.stopped()) return done(FinishReason::kStop);
  if (static_cast<int32_t>(seq.ids.size()) >= seq.max_ids) return done(FinishReason::kLength);
  return Accepted::kGoesOn;
}

}  // namespace skua
