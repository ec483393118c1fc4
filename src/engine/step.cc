// The loop: admit -> batch -> run -> sample -> emit. Start reading here.
#include <algorithm>

#include "engine/engine_impl.h"

namespace skua {

std::vector<StreamEvent> Engine::step() {
  Impl& e = *impl_;
  e.events.clear();
  e.apply_cancels();
  Status status = e.admit();
  Result<ScheduledStep> step = e.scheduler->schedule(e.runner->cache(), e.runner->step());
  if (status.ok()) status = step.status();
  if (status.ok() && !step->batch.ids.empty()) {
    status = e.runner->run(step->batch);
    if (status.ok()) status = e.sample(*step);
    e.drop_windows();
  }
  if (!status.ok()) e.fail_all(status);
  return std::move(e.events);
}

Status Engine::Impl::admit() {
  CacheManager& cache = runner->cache();
  for (Sequence* seq : scheduler->admit()) {
    seq->pages = cache.new_tables();
    // The last prompt token always runs: its logits are needed.
    const CachedStart start = cache.start(seq->ids, seq->n_prompt - 1, seq->pages, runner->step());
    for (const PageCopy& copy : start.copies) SKUA_RETURN_IF_ERROR(runner->copy_page(copy));
    seq->n_cached = seq->n_reused = start.n_tokens;
  }
  return ok_status();
}

Status Engine::Impl::sample(const ScheduledStep& step) {
  if (step.row_owner.empty()) return ok_status();
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> logits, runner->logits());
  const size_t n_vocab = logits.size() / step.row_owner.size();
  for (size_t row = 0; row < step.row_owner.size(); ++row) {
    Sequence& seq = *step.row_owner[row];
    const auto id = sample_token(std::span(logits).subspan(row * n_vocab, n_vocab), seq.request.sampling,
                                 seq.ids, seq.ids.size());
    if (!id.ok())
      finish(seq.id, FinishReason::kError, id.status());
    else
      accept_token(seq, *id);
  }
  return ok_status();
}

void Engine::Impl::accept_token(Sequence& seq, int32_t id) {
  if (seq.n_generated() == 0) seq.first_token = Sequence::Clock::now();
  seq.ids.push_back(id);
  const auto ends = [&](const std::vector<int32_t>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  const bool model_ends = seq.request.end_tokens == EndTokens::kStop && ends(end_ids);
  if (model_ends || ends(seq.request.stop_ids)) return finish(seq.id, FinishReason::kStop);
  StreamEvent event{seq.id, "", {id}};
  if (seq.decoder) event.text = seq.stops.push(seq.decoder->push(id));
  events.push_back(std::move(event));
  if (seq.stops.stopped()) return finish(seq.id, FinishReason::kStop);
  if (static_cast<int32_t>(seq.ids.size()) >= seq.max_ids) finish(seq.id, FinishReason::kLength);
}

void Engine::Impl::finish(SeqId id, FinishReason reason, Status status) {
  const std::unique_ptr<Sequence> seq = scheduler->remove(id);
  if (seq == nullptr) return;
  // A sequence that failed leaves nothing behind that others could take over.
  const int32_t n_kept = reason == FinishReason::kError ? 0 : seq->n_cached;
  runner->cache().finish(seq->ids, n_kept, seq->pages, runner->step());
  StreamEvent event{id};
  if (seq->decoder && !seq->stops.stopped()) {
    event.text = seq->stops.push(seq->decoder->finish());
    event.text += seq->stops.finish();
  }
  event.finish = reason;
  event.status = std::move(status);
  const auto now = Sequence::Clock::now();
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  event.usage.prompt_tokens = seq->n_prompt;
  event.usage.cached_tokens = seq->n_reused;
  event.usage.completion_tokens = seq->n_generated();
  if (seq->n_generated() > 0) {
    event.usage.prompt_seconds = seconds(seq->started, seq->first_token);
    event.usage.decode_seconds = seconds(seq->first_token, now);
  }
  events.push_back(std::move(event));
}

}  // namespace skua
