// Reads a gibibyte with every thread, in several patterns, and takes the best time: processors differ in
// which pattern their prefetchers follow best.
#include "skua/memory_speed.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/threads.h"

namespace skua {
namespace {

constexpr int64_t kWords = (int64_t{1} << 30) / 8;
constexpr int64_t kLine = 8;  // words of a cache line
constexpr int kPasses = 3;    // of each pattern

struct Pattern {
  int64_t unit_words;      // what a thread claims at a time
  int64_t n_streams;       // places within a unit that are read side by side
  int64_t prefetch_words;  // how far ahead lines are asked for; 0 = left to the processor
};
constexpr Pattern kPatterns[] = {
    {kWords / 2, 1, 0}, {kWords / 8, 1, 768}, {kWords / 2, 4, 0}, {1 << 17, 1, 512}, {1 << 15, 2, 256}};

uint64_t xor_of(const uint64_t* words, int64_t n, const Pattern& pattern) {
  uint64_t a[kLine] = {};
  const int64_t stride = n / pattern.n_streams;
  for (int64_t i = 0; i < stride; i += kLine) {
    for (int64_t s = 0; s < pattern.n_streams; ++s) {
      const uint64_t* line = words + s * stride + i;
      if (pattern.prefetch_words > 0) __builtin_prefetch(line + pattern.prefetch_words);
      for (int64_t j = 0; j < kLine; ++j) a[j] ^= line[j];
    }
  }
  uint64_t out = 0;
  for (const uint64_t x : a) out ^= x;
  return out;
}

/// A mapping that goes with the object; huge pages where the system gives them.
struct Words {
  uint64_t* at = nullptr;
  Words() {
    void* base = ::mmap(nullptr, kWords * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return;
    ::madvise(base, kWords * 8, MADV_HUGEPAGE);
    at = static_cast<uint64_t*>(base);
  }
  ~Words() {
    if (at != nullptr) ::munmap(at, kWords * 8);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
};

}  // namespace

double memory_read_speed(int n_threads) {
  const Words words;
  if (words.at == nullptr) return 0;
  ThreadPool pool(n_threads);
  pool.for_ranges(kWords, kLine, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) words.at[i] = static_cast<uint64_t>(i);
  });
  std::atomic<uint64_t> sink{0};  // keeps the reads
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const Pattern& pattern : kPatterns) {
      const auto start = std::chrono::steady_clock::now();
      pool.run_units(kWords / pattern.unit_words, [&](int, int64_t unit) {
        sink ^= xor_of(words.at + unit * pattern.unit_words, pattern.unit_words, pattern);
      });
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      best = std::max(best, static_cast<double>(kWords * 8) / taken.count());
    }
  }
  return best;
}

}  // namespace skua
