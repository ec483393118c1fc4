// Reads a large buffer with every thread and takes the time.
#include "skua/memory_speed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <vector>

#include "base/threads.h"

namespace skua {
namespace {

constexpr int64_t kBytes = int64_t{256} << 20;
constexpr int64_t kWords = kBytes / 8;
constexpr int64_t kLine = 8;  // words of a cache line
constexpr int kPasses = 7;

uint64_t xor_of(const uint64_t* words, int64_t n) {
  uint64_t a[kLine] = {};
  for (int64_t i = 0; i < n; i += kLine) {
    for (int64_t j = 0; j < kLine; ++j) a[j] ^= words[i + j];
  }
  uint64_t out = 0;
  for (uint64_t x : a) out ^= x;
  return out;
}

}  // namespace

double memory_read_speed(int n_threads) {
  const std::unique_ptr<uint64_t[]> words(new (std::nothrow) uint64_t[kWords]);
  if (words == nullptr) return 0;
  ThreadPool pool(n_threads);
  pool.for_ranges(kWords, kLine, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) words[static_cast<size_t>(i)] = static_cast<uint64_t>(i);
  });
  std::atomic<uint64_t> sink{0};  // keeps the reads
  std::vector<double> seconds;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.for_ranges(kWords, kLine,
                    [&](int64_t begin, int64_t end) { sink ^= xor_of(words.get() + begin, end - begin); });
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kPasses / 2, seconds.end());
  return static_cast<double>(kBytes) / seconds[kPasses / 2];
}

}  // namespace skua
