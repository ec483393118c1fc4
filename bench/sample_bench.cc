// Microseconds per token of the sampler: median and 10th and 90th percentile over rows of random logits that
// look like a language model's. The rows rotate, so that logits come from memory as they do in the engine.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sample/sampler.h"

namespace skua {
namespace {

constexpr size_t kRows = 32;

/// Normal logits with a few tokens that stand out.
std::vector<std::vector<float>> make_rows(size_t n_vocab) {
  std::mt19937 rng(5);
  std::normal_distribution<float> bulk(0, 2.5f), peak(14, 3);
  std::vector<std::vector<float>> rows(kRows, std::vector<float>(n_vocab));
  for (std::vector<float>& row : rows) {
    for (float& x : row) x = bulk(rng);
    for (int i = 0; i < 20; ++i) row[rng() % n_vocab] = peak(rng);
  }
  return rows;
}

void measure(const char* name, const SamplingParams& params, const std::vector<std::vector<float>>& rows) {
  const size_t n_vocab = rows[0].size();
  auto sampler = Sampler::make(params, static_cast<int32_t>(n_vocab));
  if (!sampler.ok()) {
    std::fprintf(stderr, "%s\n", sampler.status().message().c_str());
    std::exit(1);
  }
  std::mt19937 rng(6);
  std::vector<int32_t> prompt(2000), generated(200);
  for (int32_t& id : prompt) id = static_cast<int32_t>(rng() % 500);
  for (int32_t& id : generated) id = static_cast<int32_t>(rng() % 500);
  std::vector<double> times;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto token = sampler->sample(rows[i % kRows], prompt, generated, i);
    const auto end = std::chrono::steady_clock::now();
    if (!token.ok()) std::exit(1);
    if (i >= 30) times.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size()))];
  };
  std::printf("%-42s %8zu %10.1f %10.1f %10.1f\n", name, n_vocab, at(0.5), at(0.1), at(0.9));
}

void measure_all(size_t n_vocab) {
  const auto rows = make_rows(n_vocab);
  const auto with = [&](const char* name, auto set) {
    SamplingParams params;
    set(params);
    measure(name, params, rows);
  };
  const auto open = [](SamplingParams& p) {
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
  };
  with("default (top-k 40, top-p, min-p, temp.)", [](auto&) {});
  with("greedy", [](auto& p) { p.temperature = 0; });
  with("default + penalties + DRY + XTC", [](auto& p) {
    p.repetition_penalty = 1.1f;
    p.frequency_penalty = 0.1f;
    p.dry_multiplier = 0.8f;
    p.xtc_probability = 0.5f;
  });
  with("default + 5 logprobs", [](auto& p) { p.logprobs = 5; });
  with("temperature only", open);
  with("top-p without top-k", [&](auto& p) { open(p), p.top_p = 0.95f; });
  with("min-p without top-k", [&](auto& p) { open(p), p.min_p = 0.05f; });
  with("typical-p without top-k", [&](auto& p) { open(p), p.typical_p = 0.9f; });
  with("top-n-sigma without top-k", [&](auto& p) { open(p), p.top_n_sigma = 1; });
  with("mirostat 2", [](auto& p) { p.mirostat = Mirostat::kV2; });
}

}  // namespace
}  // namespace skua

int main() {
  std::printf("%-42s %8s %10s %10s %10s\n", "sampler, us per token", "n_vocab", "median", "p10", "p90");
  for (size_t n_vocab : {size_t{32000}, size_t{151936}}) skua::measure_all(n_vocab);
}
