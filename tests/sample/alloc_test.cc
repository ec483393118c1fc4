// Counts what the sampler allocates. Its own program: it replaces operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>

#include "sample/sampler.h"

namespace {
size_t n_allocations = 0;
}

void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace skua {
namespace {

std::vector<float> random_row(std::mt19937& rng) {
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> row(20000);
  for (float& x : row) x = normal(rng);
  return row;
}

/// Allocations of 200 tokens after 200 others.
size_t allocations(const SamplingParams& params) {
  std::mt19937 rng(1);
  auto sampler = Sampler::make(params, 20000);
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 8; ++i) rows.push_back(random_row(rng));
  std::vector<int32_t> ids(500);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng() % 20);
  const auto run = [&] {
    for (uint64_t i = 0; i < 200; ++i) EXPECT_TRUE(sampler->sample(rows[i % 8], ids, ids, i).ok());
  };
  run();
  const size_t before = n_allocations;
  run();
  return n_allocations - before;
}

TEST(SamplerMemory, SteadyStateDoesNotAllocate) {
  SamplingParams params;
  EXPECT_EQ(allocations(params), 0u);
  params.repetition_penalty = 1.1f;
  params.frequency_penalty = 0.5f;
  params.dry_multiplier = 1;
  params.dry_breakers = {{3, 4}};
  params.xtc_probability = 1;
  params.typical_p = 0.9f;
  params.top_n_sigma = 2;
  params.logit_bias = {{5, 2.0f}};
  params.banned_ids = {6};
  params.logprobs = 0;
  EXPECT_EQ(allocations(params), 0u);
  params.top_k = 0;
  EXPECT_EQ(allocations(params), 0u);
  // The count works: a list of alternatives is a vector of its own.
  params.logprobs = 5;
  EXPECT_EQ(allocations(params), 200u);
}

}  // namespace
}  // namespace skua
