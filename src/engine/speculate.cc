// Prompt lookup: a backwards scan for the newest n-gram that equals the end.
#include "engine/speculate.h"

#include <algorithm>

namespace skua {

std::vector<int32_t> prompt_lookup(std::span<const int32_t> ids, int32_t max_tokens) {
  constexpr size_t kWindow = 4096;  // bounds the scan on long contexts
  if (max_tokens < 1) return {};
  for (size_t n : {size_t{3}, size_t{2}}) {
    if (ids.size() < n + 1) continue;
    const auto tail = ids.last(n);
    const size_t oldest = ids.size() > kWindow ? ids.size() - kWindow : 0;
    for (size_t at = ids.size() - n; at-- > oldest;) {
      if (!std::equal(tail.begin(), tail.end(), ids.begin() + static_cast<std::ptrdiff_t>(at))) continue;
      const auto rest = ids.subspan(at + n);
      const auto kept = rest.first(std::min(rest.size(), static_cast<size_t>(max_tokens)));
      return {kept.begin(), kept.end()};
    }
  }
  return {};
}

namespace {

class PromptLookup final : public Proposer {
 public:
  std::vector<int32_t> propose(const Sequence& seq, int32_t max_tokens) override {
    return prompt_lookup(seq.ids, max_tokens);
  }
  void forget(const Sequence&) override {}
};

}  // namespace

std::unique_ptr<Proposer> make_prompt_lookup() { return std::make_unique<PromptLookup>(); }

void SpeculationGauge::record(double seconds, int32_t n_drafted, int32_t n_gained) {
  constexpr double kWeight = 0.2;
  double& smoothed = n_drafted > 0 ? draft_seconds_ : plain_seconds_;
  const double per_token = seconds / std::max(1, n_gained);
  smoothed = smoothed == 0 ? per_token : (1 - kWeight) * smoothed + kWeight * per_token;
  if (n_drafted > 0) ++n_draft_steps_;
}

bool SpeculationGauge::worth_it() {
  constexpr int32_t kTrials = 8;      // before judging
  constexpr int32_t kLookAgain = 64;  // asked and refused so often, tries once more
  if (n_draft_steps_ < kTrials || plain_seconds_ == 0 || draft_seconds_ <= plain_seconds_) return true;
  if (++n_skipped_ < kLookAgain) return false;
  n_skipped_ = 0;
  return true;
}

}  // namespace skua
