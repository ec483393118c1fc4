// Samplers in their order: repetition penalty, top-k, top-p, min-p, temperature, draw. Probabilities in
// float64.
#include "sample/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/exp.h"

namespace skua {
namespace {

struct Candidate {
  float logit;
  int32_t id;
};

/// Higher logits first, lower ids first among equals.
bool before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

Status out_of_range(const char* name, double value, const char* range) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return invalid_argument("[sampling] " + std::string(name) + " must be " + range + ", got " + text);
}

uint64_t mix(uint64_t z) {
  // splitmix64's finaliser, as published by S. Vigna.
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Divides positive and multiplies negative logits of tokens in the window, once per distinct token.
void penalize(std::vector<float>& logits, const SamplingParams& params, std::span<const int32_t> history) {
  const size_t n = params.repeat_last_n < 0
                       ? history.size()
                       : std::min(history.size(), static_cast<size_t>(params.repeat_last_n));
  std::vector<int32_t> window(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
  std::sort(window.begin(), window.end());
  window.erase(std::unique(window.begin(), window.end()), window.end());
  for (int32_t id : window) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
  }
}

/// The best `k` candidates, best first; all of them if k is 0.
std::vector<Candidate> best(std::span<const float> logits, size_t k) {
  std::vector<Candidate> out;
  if (k == 0 || k > logits.size()) k = logits.size();
  out.reserve(k);
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate c{logits[i], static_cast<int32_t>(i)};
    if (std::isinf(c.logit)) continue;  // -inf: banned
    if (out.size() < k) {
      out.push_back(c);
      if (out.size() == k && k < logits.size()) std::make_heap(out.begin(), out.end(), before);
    } else if (before(c, out.front())) {
      std::pop_heap(out.begin(), out.end(), before);
      out.back() = c;
      std::push_heap(out.begin(), out.end(), before);
    }
  }
  std::sort(out.begin(), out.end(), before);
  return out;
}

/// Unnormalised probabilities relative to the first (best) candidate.
std::vector<double> weights(const std::vector<Candidate>& candidates, double temperature) {
  std::vector<double> out;
  out.reserve(candidates.size());
  const double top = candidates.front().logit;
  for (const Candidate& c : candidates)
    out.push_back(exact_exp((static_cast<double>(c.logit) - top) / temperature));
  return out;
}

/// Drops the tail beyond top-p's mass and below min-p's share; at least one candidate stays.
void cut(std::vector<Candidate>& candidates, const SamplingParams& params) {
  if (params.top_p >= 1.0f && params.min_p <= 0.0f) return;
  const std::vector<double> w = weights(candidates, 1.0);
  double total = 0;
  for (double value : w) total += value;
  size_t kept = 0;
  double mass = 0;
  while (kept < w.size()) {
    const bool enough = kept > 0 && params.top_p < 1.0f && mass >= static_cast<double>(params.top_p) * total;
    if (enough || (kept > 0 && w[kept] < static_cast<double>(params.min_p))) break;
    mass += w[kept++];
  }
  candidates.resize(kept);
}

Status check_logits(std::span<const float> logits) {
  bool finite = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || (std::isinf(logits[i]) && logits[i] > 0)) {
      return internal_error("[sampling] the logit of token " + std::to_string(i) +
                            " is not a number; the model's weights or a kernel are at fault");
    }
    finite |= !std::isinf(logits[i]);
  }
  if (!finite) return internal_error("[sampling] no token is allowed: every logit is minus infinity");
  return ok_status();
}

}  // namespace

Status validate(const SamplingParams& params) {
  const auto in = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!in(params.temperature, 0, 100)) return out_of_range("temperature", params.temperature, "0 to 100");
  if (params.top_k < 0) return out_of_range("top-k", params.top_k, "0 (off) or more");
  if (!in(params.top_p, 0, 1)) return out_of_range("top-p", params.top_p, "0 to 1");
  if (!in(params.min_p, 0, 1)) return out_of_range("min-p", params.min_p, "0 to 1");
  if (!in(params.repetition_penalty, 0.01, 100)) {
    return out_of_range("repetition penalty", params.repetition_penalty, "0.01 to 100 (1 is off)");
  }
  if (params.repeat_last_n < -1)
    return out_of_range("repeat-last-n", params.repeat_last_n, "-1 (all), 0 (off) or more");
  return ok_status();
}

double uniform_draw(uint64_t seed, uint64_t position, uint64_t draw) {
  uint64_t z = mix(seed + 0x9E3779B97F4A7C15u);
  z = mix(z + position * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u);
  z = mix(z + draw * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du);
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

Result<int32_t> sample_token(std::span<const float> logits, const SamplingParams& params,
                             std::span<const int32_t> history, uint64_t position) {
  SKUA_RETURN_IF_ERROR(check_logits(logits));
  std::vector<float> changed;
  if (params.repetition_penalty != 1.0f && params.repeat_last_n != 0) {
    changed.assign(logits.begin(), logits.end());
    penalize(changed, params, history);
    logits = changed;
  }
  if (params.temperature == 0.0f) return best(logits, 1).front().id;
  std::vector<Candidate> candidates = best(logits, static_cast<size_t>(params.top_k));
  cut(candidates, params);
  const std::vector<double> w = weights(candidates, params.temperature);
  double total = 0;
  for (double value : w) total += value;
  double left = uniform_draw(params.seed, position, 0) * total;
  for (size_t i = 0; i < w.size(); ++i) {
    left -= w[i];
    if (left < 0) return candidates[i].id;
  }
  return candidates.back().id;
}

}  // namespace skua
