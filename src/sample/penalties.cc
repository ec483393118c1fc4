// Penalties for tokens that occurred, and for tokens that would go on with a repeat.
#include "sample/penalties.h"

#include <algorithm>
#include <cmath>

#include "base/exp.h"

namespace skua {

void Penalties::apply(const SamplingParams& params, const History& history, Candidates& candidates) {
  const bool off =
      params.repetition_penalty == 1 && params.frequency_penalty == 0 && params.presence_penalty == 0;
  if (off || params.repeat_last_n == 0) return;
  candidates.settle();
  counts_.resize(candidates.n_vocab());
  const size_t n = history.window(params.repeat_last_n);
  for (size_t i = 0; i < n; ++i) {
    const int32_t id = history.newest(i);
    if (id < 0 || static_cast<size_t>(id) >= counts_.size()) continue;
    uint32_t& count = counts_[static_cast<size_t>(id)];
    if (count == 0) {
      count = 1;
      seen_.push_back(id);
    }
    count += i < history.generated.size();
  }
  for (int32_t id : seen_) {
    const double count = counts_[static_cast<size_t>(id)] - 1;
    counts_[static_cast<size_t>(id)] = 0;
    double logit = static_cast<double>(candidates.logit(id));
    if (std::isinf(logit)) continue;
    const auto repetition = static_cast<double>(params.repetition_penalty);
    logit = logit > 0 ? logit / repetition : logit * repetition;
    logit -= count * static_cast<double>(params.frequency_penalty);
    if (count > 0) logit -= static_cast<double>(params.presence_penalty);
    candidates.set(id, finite_float(logit));
  }
  seen_.clear();
}

size_t Dry::repeat_limit(const SamplingParams& params) const {
  const auto ends_at = [this](const std::vector<int32_t>& breaker, size_t first) {
    if (breaker.size() > first + 1) return false;
    for (size_t i = 0; i < breaker.size(); ++i) {
      if (newest_first_[first - i] != breaker[i]) return false;
    }
    return true;
  };
  for (size_t first = 0; first < newest_first_.size(); ++first) {
    size_t longest = 0;
    for (const std::vector<int32_t>& breaker : params.dry_breakers) {
      if (ends_at(breaker, first)) longest = std::max(longest, breaker.size());
    }
    if (longest > 0) return first + 1 - longest;
  }
  return newest_first_.size();
}

void Dry::find_repeats(size_t limit) {
  // The Z algorithm: [left, right) is the furthest stretch known to equal the beginning.
  const std::vector<int32_t>& text = newest_first_;
  const size_t n = text.size();
  lengths_.assign(n, 0);
  size_t left = 0, right = 0;
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < right ? std::min(right - i, static_cast<size_t>(lengths_[i - left])) : 0;
    while (i + length < n && text[length] == text[i + length]) ++length;
    lengths_[i] = static_cast<int32_t>(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
  repeats_.clear();
  for (size_t i = 1; i < n; ++i) {
    repeats_.push_back(
        {text[i - 1], static_cast<int32_t>(std::min(static_cast<size_t>(lengths_[i]), limit))});
  }
}

void Dry::apply(const SamplingParams& params, const History& history, Candidates& candidates) {
  const size_t n = history.window(params.dry_penalty_last_n);
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  if (params.dry_multiplier == 0 || n <= allowed) return;
  candidates.settle();
  newest_first_.resize(n);
  for (size_t i = 0; i < n; ++i) newest_first_[i] = history.newest(i);
  const size_t limit = repeat_limit(params);
  if (limit < allowed) return;
  find_repeats(limit);
  std::erase_if(repeats_, [&](const Repeat& repeat) {
    return repeat.length < params.dry_allowed_length || repeat.id < 0 ||
           static_cast<size_t>(repeat.id) >= candidates.n_vocab();
  });
  std::sort(repeats_.begin(), repeats_.end(), [](const Repeat& a, const Repeat& b) {
    return a.id < b.id || (a.id == b.id && a.length > b.length);
  });
  const double log_base = exact_log(static_cast<double>(params.dry_base));
  for (size_t i = 0; i < repeats_.size(); ++i) {
    const auto [id, length] = repeats_[i];
    if (i > 0 && repeats_[i - 1].id == id) continue;  // its longest repeat came first
    const auto logit = static_cast<double>(candidates.logit(id));
    if (std::isinf(logit)) continue;
    const double exponent = log_base * (length - params.dry_allowed_length);
    candidates.set(id,
                   finite_float(logit - static_cast<double>(params.dry_multiplier) * exact_exp(exponent)));
  }
}

}  // namespace skua
