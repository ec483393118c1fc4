// Admission, batch building and preemption. Owns the sequences; pages belong to the pools.
#include "engine/scheduler.h"

#include <algorithm>

namespace skua {
namespace {

/// True if `a` is more entitled to run than `b`.
bool before(const Sequence& a, const Sequence& b) {
  const int32_t pa = a.request->priority, pb = b.request->priority;
  return pa != pb ? pa > pb : a.arrival < b.arrival;
}

void insert_sorted(std::vector<std::unique_ptr<Sequence>>& list, std::unique_ptr<Sequence> seq) {
  const auto place = std::upper_bound(list.begin(), list.end(), seq,
                                      [](const auto& a, const auto& b) { return before(*a, *b); });
  list.insert(place, std::move(seq));
}

std::unique_ptr<Sequence> take(std::vector<std::unique_ptr<Sequence>>& list, SeqId request, int32_t choice) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const std::unique_ptr<Sequence>& seq) {
    return seq->request_id == request && seq->choice == choice;
  });
  if (found == list.end()) return nullptr;
  auto out = std::move(*found);
  list.erase(found);
  return out;
}

}  // namespace

Status Scheduler::enqueue(std::vector<std::unique_ptr<Sequence>> choices) {
  if (waiting_.size() + choices.size() > static_cast<size_t>(limits_.max_waiting)) {
    return resource_exhausted("[queue] " + std::to_string(waiting_.size()) +
                              " replies are waiting already, of at most " +
                              std::to_string(limits_.max_waiting) + "; try again later");
  }
  for (auto& seq : choices) insert_sorted(waiting_, std::move(seq));
  return ok_status();
}

bool Scheduler::waits_for_first_choice(const Sequence& seq) const {
  if (seq.choice == 0) return false;
  const auto prefilling = [&](const std::unique_ptr<Sequence>& other) {
    return other->request_id == seq.request_id && other->choice == 0 && other->n_generated() == 0;
  };
  return std::any_of(running_.begin(), running_.end(), prefilling);
}

std::vector<Sequence*> Scheduler::admit(const CacheManager& cache) {
  std::vector<Sequence*> out;
  int32_t n_promised = 0;  // tokens of those admitted in this call
  for (size_t i = 0; i < waiting_.size() && running_.size() < static_cast<size_t>(limits_.max_seqs);) {
    if (waits_for_first_choice(*waiting_[i])) {
      ++i;
      continue;
    }
    const int32_t n_needed = static_cast<int32_t>(waiting_[i]->ids.size()) + 1 + kPageTokens;
    // In order: whoever does not fit yet holds up those behind it, else large prompts would never run.
    if (!running_.empty() && !cache.can_hold(n_promised + n_needed)) break;
    n_promised += n_needed;
    auto seq = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    out.push_back(seq.get());
    insert_sorted(running_, std::move(seq));
  }
  return out;
}

void Scheduler::preempt(size_t index, CacheManager& cache, uint64_t completed_step) {
  auto seq = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  for (PageTable& table : seq->pages) table.release_all(completed_step);
  for (PagePool& pool : cache.pools()) pool.reclaim(completed_step);
  seq->pages.clear();
  seq->n_cached = 0;
  ++seq->usage.n_preemptions;
  insert_sorted(waiting_, std::move(seq));
}

bool Scheduler::make_room(CacheManager& cache, Sequence& seq, int32_t n_tokens, uint64_t completed_step) {
  while (!cache.extend(seq.pages, seq.n_cached + n_tokens, completed_step, seq.marks).ok()) {
    if (running_.back().get() == &seq) return false;
    preempt(running_.size() - 1, cache, completed_step);
  }
  return true;
}

Status Scheduler::schedule(CacheManager& cache, uint64_t completed_step, const Propose& propose,
                           ScheduledStep& step) {
  step.batch = {};
  step.owners.clear();
  int32_t left = limits_.max_tokens;
  // From the most entitled on. Whoever comes later may be preempted for whoever came before, never the
  // reverse, so a sequence that is in the batch stays.
  for (size_t i = 0; i < running_.size() && left > 0; ++i) {
    Sequence& seq = *running_[i];
    seq.draft.clear();
    int32_t n_tokens = std::min(left, seq.n_pending());
    const bool reaches_end = n_tokens == seq.n_pending();
    if (propose && seq.n_pending() == 1 && left > 1) propose(seq, left - 1);
    n_tokens += static_cast<int32_t>(seq.draft.size());
    if (!make_room(cache, seq, n_tokens, completed_step)) {
      seq.draft.clear();
      if (i == 0) {
        return resource_exhausted("[cache] " + std::to_string(seq.n_cached + n_tokens) +
                                  " tokens of one sequence do not fit the cache");
      }
      preempt(i, cache, completed_step);
      break;
    }
    std::vector<int32_t> ids(seq.ids.begin() + seq.n_cached, seq.ids.end());
    ids.insert(ids.end(), seq.draft.begin(), seq.draft.end());
    ids.resize(static_cast<size_t>(n_tokens));
    std::vector<std::span<const int32_t>> tables;
    for (const PageTable& table : seq.pages) tables.push_back(table.pages());
    const int32_t n_rows = reaches_end ? 1 + static_cast<int32_t>(seq.draft.size()) : 0;
    if (n_rows > 0) step.owners.push_back({&seq, static_cast<int32_t>(step.batch.rows.size()), n_rows});
    append(step.batch, ids, seq.n_cached, n_rows, std::move(tables));
    seq.n_cached += n_tokens;
    left -= n_tokens;
  }
  return ok_status();
}

std::unique_ptr<Sequence> Scheduler::remove(SeqId request, int32_t choice) {
  auto out = take(running_, request, choice);
  return out != nullptr ? std::move(out) : take(waiting_, request, choice);
}

}  // namespace skua
