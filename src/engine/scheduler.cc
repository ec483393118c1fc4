// Admission and batch building. Owns the sequences; pages belong to the pools.
#include "engine/scheduler.h"

#include <algorithm>

namespace skua {

Status Scheduler::enqueue(std::unique_ptr<Sequence> seq) {
  if (waiting_.size() >= static_cast<size_t>(limits_.max_waiting)) {
    return resource_exhausted("[queue] " + std::to_string(waiting_.size()) +
                              " requests are waiting already; try again later");
  }
  waiting_.push_back(std::move(seq));
  return ok_status();
}

std::vector<Sequence*> Scheduler::admit() {
  std::vector<Sequence*> out;
  while (!waiting_.empty() && running_.size() < static_cast<size_t>(limits_.max_seqs)) {
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    running_.back()->started = Sequence::Clock::now();
    out.push_back(running_.back().get());
  }
  return out;
}

Result<ScheduledStep> Scheduler::schedule(CacheManager& cache, uint64_t completed_step) {
  ScheduledStep step;
  int32_t left = limits_.max_tokens;
  const auto add = [&](Sequence& seq, int32_t n_tokens) -> Status {
    SKUA_RETURN_IF_ERROR(cache.extend(seq.pages, seq.n_cached + n_tokens, completed_step));
    std::vector<std::span<const int32_t>> tables;
    for (const PageTable& table : seq.pages) tables.push_back(table.pages());
    const bool reaches_end = seq.n_cached + n_tokens == static_cast<int32_t>(seq.ids.size());
    const auto ids = std::span<const int32_t>(seq.ids).subspan(static_cast<size_t>(seq.n_cached),
                                                               static_cast<size_t>(n_tokens));
    append(step.batch, ids, seq.n_cached, reaches_end ? 1 : 0, std::move(tables));
    if (reaches_end) step.row_owner.push_back(&seq);
    seq.n_cached += n_tokens;
    left -= n_tokens;
    return ok_status();
  };
  std::vector<Sequence*> prompts;
  for (auto& seq : running_) {
    if (seq->prefilling()) {
      prompts.push_back(seq.get());
    } else if (left > 0) {
      SKUA_RETURN_IF_ERROR(add(*seq, 1));
    }
  }
  for (Sequence* seq : prompts) {
    if (left > 0) SKUA_RETURN_IF_ERROR(add(*seq, std::min(left, seq->n_prompt - seq->n_cached)));
  }
  return step;
}

std::unique_ptr<Sequence> Scheduler::remove(SeqId id) {
  const auto same = [&](const std::unique_ptr<Sequence>& seq) { return seq->id == id; };
  const auto running = std::find_if(running_.begin(), running_.end(), same);
  if (running != running_.end()) {
    auto out = std::move(*running);
    running_.erase(running);
    return out;
  }
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), same);
  if (waiting == waiting_.end()) return nullptr;
  auto out = std::move(*waiting);
  waiting_.erase(waiting);
  return out;
}

std::vector<SeqId> Scheduler::all() const {
  std::vector<SeqId> out;
  for (const auto& seq : running_) out.push_back(seq->id);
  for (const auto& seq : waiting_) out.push_back(seq->id);
  return out;
}

}  // namespace skua
