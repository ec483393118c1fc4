// Cut-offs and temperature. z is a candidate's logit below the best one's, divided by the temperature so far.
#include "sample/stages.h"

#include <algorithm>
#include <cmath>

#include "base/exp.h"

namespace skua {
namespace {

constexpr double kLn2 = kLn2High + kLn2Low;
constexpr size_t kFirstLook = 64;
constexpr size_t kMirostatTokens = 100;

/// Calls fn(index, weight) for the candidates from the best on until it returns false.
template <typename Fn>
void for_best(Candidates& candidates, Fn&& fn) {
  size_t begin = 0;
  while (begin < candidates.size()) {
    const size_t end = candidates.sort(std::max(kFirstLook, 8 * begin));
    const std::span<const double> weights = candidates.weights(begin, end);
    for (size_t i = begin; i < end; ++i) {
      if (!fn(i, weights[i - begin])) return;
    }
    begin = end;
  }
}

/// z of a candidate; sorts as far as needed.
double z_of(Candidates& candidates, size_t i) {
  if (i >= candidates.sorted_logits().size()) candidates.sort(std::max(kFirstLook, 8 * i));
  const auto logit = static_cast<double>(candidates.sorted_logits()[i]);
  return (logit - static_cast<double>(candidates.top())) * candidates.inverse_temperature();
}

double entropy(const ExpSums& sums) { return exact_log(sums.weight) - sums.weighted_z / sums.weight; }

/// Estimates k. s is the exponent of Zipf's law, fitted to the best tokens.
double mirostat_k(Candidates& candidates, double mu) {
  double products = 0, squares = 0;
  const size_t n = std::min(candidates.size(), kMirostatTokens);
  for (size_t i = 0; i + 1 < n; ++i) {
    const double t = exact_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * (z_of(candidates, i) - z_of(candidates, i + 1));
    squares += t * t;
  }
  const double s = std::max(products / squares, 1e-6);
  const double epsilon = s - 1;
  const double log_vocab = exact_log(static_cast<double>(candidates.n_vocab()));
  // epsilon / (1 - n_vocab^-epsilon), whose limit at 0 is 1 / log n_vocab.
  const double share =
      std::abs(epsilon) < 1e-9 ? 1 / log_vocab : epsilon / (1 - exact_exp(-epsilon * log_vocab));
  return exact_exp((exact_log(share) + mu * kLn2) / s);
}

}  // namespace

void keep_top_n_sigma(Candidates& candidates, double n) {
  if (n <= 0 || candidates.size() < 2) return;
  candidates.keep_above(static_cast<double>(candidates.top()) - n * candidates.spread());
}

void keep_top_p(Candidates& candidates, double p) {
  if (p >= 1) return;
  const double enough = p * candidates.sums().weight;
  double mass = 0;
  size_t kept = candidates.size();
  for_best(candidates, [&](size_t i, double weight) {
    mass += weight;
    if (mass < enough) return true;
    kept = i + 1;
    return false;
  });
  candidates.keep(kept);
}

void keep_min_p(Candidates& candidates, double p) {
  if (p <= 0) return;
  candidates.keep_above(static_cast<double>(candidates.top()) +
                        exact_log(p) / candidates.inverse_temperature());
}

void keep_typical(Candidates& candidates, double p) {
  if (p >= 1 || candidates.size() < 2) return;
  // |surprise - entropy| = |z - z_mean|: the typical set is a window around the mean.
  const ExpSums sums = candidates.sums();
  const double z_mean = sums.weighted_z / sums.weight;
  size_t end = 0;
  while (end < candidates.size() && z_of(candidates, end) >= z_mean) ++end;
  size_t begin = end;
  double mass = 0;
  while (mass <= p * sums.weight && end - begin < candidates.size()) {
    const bool has_lower = end < candidates.size();
    const double upper_z = begin > 0 ? z_of(candidates, begin - 1) : 0;
    const double lower_z = has_lower ? z_of(candidates, end) : 0;
    const bool take_upper = begin > 0 && (!has_lower || upper_z - z_mean <= z_mean - lower_z);
    mass += exact_exp(take_upper ? upper_z : lower_z);
    take_upper ? --begin : ++end;
  }
  candidates.keep(end);
  candidates.drop(begin);
}

void drop_top_choices(Candidates& candidates, const Xtc& xtc, double chance) {
  if (xtc.threshold > 0.5 || candidates.size() < 2 || chance >= xtc.probability) return;
  const double enough = xtc.threshold * candidates.sums().weight;
  size_t n_above = 0;
  for_best(candidates, [&](size_t i, double weight) {
    if (weight < enough) return false;
    n_above = i + 1;
    return true;
  });
  if (n_above > 1) candidates.drop(n_above - 1);
}

void apply_temperature(Candidates& candidates, const SamplingParams& params) {
  auto temperature = static_cast<double>(params.temperature);
  const auto range = static_cast<double>(params.dynatemp_range);
  if (range > 0) {
    if (candidates.size() < 2) return;
    const double low = std::max(0.0, temperature - range);
    const double share =
        std::clamp(entropy(candidates.sums()) / exact_log(static_cast<double>(candidates.size())), 0.0, 1.0);
    temperature =
        low + (temperature + range - low) * exact_pow(share, static_cast<double>(params.dynatemp_exponent));
  }
  if (temperature > 0)
    candidates.scale(1 / temperature);
  else
    candidates.keep(1);
}

void cut_mirostat(Candidates& candidates, Mirostat version, double mu) {
  if (candidates.size() < 2) return;
  if (version == Mirostat::kV1) {
    const auto size = static_cast<double>(candidates.size());
    candidates.keep(static_cast<size_t>(std::clamp(mirostat_k(candidates, mu), 1.0, size)));
  } else {
    // -log2(e^z / sum) <= mu
    const double z_min = exact_log(candidates.sums().weight) - mu * kLn2;
    candidates.keep_above(static_cast<double>(candidates.top()) + z_min / candidates.inverse_temperature());
  }
}

}  // namespace skua
