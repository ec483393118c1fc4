// The samplers once more, as plainly as their papers and llama.cpp's documentation state them: whole lists,
// long double, libm, no shortcuts. Shares nothing with the code under test but the parameters' struct.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "sample/sampling_params.h"

namespace skua::plain {

using Real = long double;

struct Item {
  int32_t id;
  Real logit;
  Real p = 0;
};
using Items = std::vector<Item>;  // best first

inline void softmax(Items& items) {
  Real sum = 0;
  for (Item& item : items) sum += item.p = std::exp(item.logit - items[0].logit);
  for (Item& item : items) item.p /= sum;
}

inline void sort(Items& items) {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  });
}

inline std::vector<int32_t> last(const std::vector<int32_t>& ids, int32_t n) {
  if (n < 0 || static_cast<size_t>(n) > ids.size()) return ids;
  return {ids.end() - n, ids.end()};
}

inline void penalties(Items& items, const SamplingParams& p, const std::vector<int32_t>& prompt,
                      const std::vector<int32_t>& generated) {
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), generated.begin(), generated.end());
  const auto window = last(all, p.repeat_last_n);
  const auto own = last(generated, p.repeat_last_n);
  for (Item& item : items) {
    if (std::count(window.begin(), window.end(), item.id) == 0) continue;
    if (item.logit > 0)
      item.logit /= static_cast<Real>(p.repetition_penalty);
    else
      item.logit *= static_cast<Real>(p.repetition_penalty);
    const auto count = std::count(own.begin(), own.end(), item.id);
    item.logit -= static_cast<Real>(count) * static_cast<Real>(p.frequency_penalty);
    if (count > 0) item.logit -= static_cast<Real>(p.presence_penalty);
  }
  sort(items);
}

/// Tokens behind the newest breaker of the text.
inline size_t dry_limit(const std::vector<int32_t>& text, const SamplingParams& p) {
  for (size_t begin = text.size(); begin-- > 0;) {
    size_t longest = 0;
    for (const auto& breaker : p.dry_breakers) {
      if (begin + breaker.size() <= text.size() &&
          std::equal(breaker.begin(), breaker.end(), text.begin() + static_cast<long>(begin)))
        longest = std::max(longest, breaker.size());
    }
    if (longest > 0) return text.size() - begin - longest;
  }
  return text.size();
}

inline void dry(Items& items, const SamplingParams& p, const std::vector<int32_t>& prompt,
                const std::vector<int32_t>& generated) {
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), generated.begin(), generated.end());
  const auto text = last(all, p.dry_penalty_last_n);
  const auto n = text.size(), allowed = static_cast<size_t>(p.dry_allowed_length);
  if (p.dry_multiplier == 0 || n <= allowed) return;
  const size_t limit = dry_limit(text, p);
  if (limit < allowed) return;
  for (Item& item : items) {
    long longest = -1;
    for (size_t next = 1; next < n; ++next) {
      if (text[next] != item.id) continue;
      size_t length = 0;
      while (length < limit && length < next && text[next - 1 - length] == text[n - 1 - length]) ++length;
      longest = std::max(longest, static_cast<long>(length));
    }
    if (longest < static_cast<long>(allowed)) continue;
    item.logit -=
        static_cast<Real>(p.dry_multiplier) *
        std::pow(static_cast<Real>(p.dry_base), static_cast<Real>(longest) - static_cast<Real>(allowed));
  }
  sort(items);
}

inline void top_n_sigma(Items& items, Real n) {
  if (n <= 0) return;
  Real mean = 0, square = 0;
  for (const Item& item : items) mean += item.logit / static_cast<Real>(items.size());
  for (const Item& item : items)
    square += (item.logit - mean) * (item.logit - mean) / static_cast<Real>(items.size());
  const Real bound = items[0].logit - n * std::sqrt(square);
  std::erase_if(items, [&](const Item& item) { return item.logit < bound; });
}

inline void typical(Items& items, Real p) {
  if (p >= 1) return;
  softmax(items);
  Real entropy = 0;
  for (const Item& item : items) entropy -= item.p * std::log(item.p);
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    return std::abs(-std::log(a.p) - entropy) < std::abs(-std::log(b.p) - entropy);
  });
  Real sum = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    sum += items[i].p;
    if (sum > p) {
      items.resize(i + 1);
      break;
    }
  }
  sort(items);
}

inline void top_p(Items& items, Real p) {
  if (p >= 1) return;
  softmax(items);
  Real sum = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    sum += items[i].p;
    if (sum >= p) items.resize(i + 1);
  }
}

inline void min_p(Items& items, Real p) {
  softmax(items);
  const Real bound = p * items[0].p;
  std::erase_if(items, [&](const Item& item) { return item.p < bound; });
}

inline void xtc(Items& items, Real threshold) {
  if (threshold > 0.5L) return;
  softmax(items);
  size_t n_above = 0;
  while (n_above < items.size() && items[n_above].p >= threshold) ++n_above;
  if (n_above > 1) items.erase(items.begin(), items.begin() + static_cast<long>(n_above) - 1);
}

inline void temperature(Items& items, const SamplingParams& p) {
  Real t = static_cast<Real>(p.temperature);
  const auto range = static_cast<Real>(p.dynatemp_range);
  if (range > 0 && items.size() > 1) {
    softmax(items);
    Real entropy = 0;
    for (const Item& item : items) entropy -= item.p > 0 ? item.p * std::log(item.p) : 0;
    const Real low = std::max<Real>(0, t - range), high = t + range;
    t = low + (high - low) * std::pow(entropy / std::log(static_cast<Real>(items.size())),
                                      static_cast<Real>(p.dynatemp_exponent));
  }
  if (t > 0)
    for (Item& item : items) item.logit /= t;
  else
    items.resize(1);
}

inline void mirostat(Items& items, Mirostat version, Real mu, size_t n_vocab) {
  if (items.size() < 2) return;
  softmax(items);
  if (version == Mirostat::kV2) {
    size_t n = 0;
    while (n < items.size() && -std::log2(items[n].p) <= mu) ++n;
    items.resize(std::max<size_t>(n, 1));
    return;
  }
  Real tb = 0, tt = 0;
  for (size_t i = 0; i + 1 < items.size() && i + 1 < 100; ++i) {
    const Real t = std::log(static_cast<Real>(i + 2) / static_cast<Real>(i + 1));
    tb += t * std::log(items[i].p / items[i + 1].p);
    tt += t * t;
  }
  const Real s = tb / tt, epsilon = s - 1;
  const Real k =
      std::pow(epsilon * std::exp2(mu) / (1 - std::pow(static_cast<Real>(n_vocab), -epsilon)), 1 / s);
  items.resize(k < 1 ? 1 : k > static_cast<Real>(items.size()) ? items.size() : static_cast<size_t>(k));
}

struct Case {
  std::vector<float> logits;
  SamplingParams params;
  std::vector<int32_t> prompt, generated;
  std::set<int32_t> banned;  // by mask or otherwise, besides the parameters'
  bool xtc_strikes = false;
  double mu = 0;
};

inline Items candidates(const Case& c) {
  Items items;
  const SamplingParams& p = c.params;
  for (size_t i = 0; i < c.logits.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const auto in = [id](const std::vector<int32_t>& ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    if (c.banned.contains(id) || in(p.banned_ids) || std::isinf(c.logits[i])) continue;
    if (!p.allowed_ids.empty() && !in(p.allowed_ids)) continue;
    Real logit = static_cast<Real>(c.logits[i]);
    for (const LogitBias& b : p.logit_bias) logit += b.id == id ? static_cast<Real>(b.bias) : 0;
    items.push_back({id, logit});
  }
  sort(items);
  return items;
}

/// Candidates with their final probabilities, best first.
inline Items distribution(const Case& c) {
  const SamplingParams& p = c.params;
  Items items = candidates(c);
  const bool cuts = p.mirostat == Mirostat::kOff;
  for (SamplerStage stage : p.stages) {
    using S = SamplerStage;
    if (stage == S::kPenalties && p.repeat_last_n != 0) penalties(items, p, c.prompt, c.generated);
    if (stage == S::kDry) dry(items, p, c.prompt, c.generated);
    if (stage == S::kTopNSigma && cuts) top_n_sigma(items, static_cast<Real>(p.top_n_sigma));
    if (stage == S::kTopK && cuts && p.top_k > 0)
      items.resize(std::min(items.size(), static_cast<size_t>(p.top_k)));
    if (stage == S::kTypical && cuts) typical(items, static_cast<Real>(p.typical_p));
    if (stage == S::kTopP && cuts) top_p(items, static_cast<Real>(p.top_p));
    if (stage == S::kMinP && cuts) min_p(items, static_cast<Real>(p.min_p));
    if (stage == S::kXtc && cuts && c.xtc_strikes) xtc(items, static_cast<Real>(p.xtc_threshold));
    if (stage == S::kTemperature) temperature(items, p);
  }
  if (!cuts) mirostat(items, p.mirostat, static_cast<Real>(c.mu), c.logits.size());
  softmax(items);
  return items;
}

}  // namespace skua::plain
