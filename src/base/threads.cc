// The pool: one word says whether a region is open and how many workers are inside. Workers enter an open
// region, claim units until none is left, and leave; the caller does the same, closes the region, and waits
// only for those inside. Waiters spin for about 50 us before they sleep on the word.
#include "base/threads.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/check.h"

namespace skua {
namespace {

void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The word: workers inside (12 bits), open (1 bit), number of the region (the rest, wrapping).
constexpr uint32_t kOpen = 1u << 12;
constexpr uint32_t kInside = kOpen - 1;
constexpr uint32_t kRegion = kOpen << 1;

bool open_for(uint32_t word, uint32_t last_region) {
  return (word & kOpen) != 0 && word / kRegion != last_region;
}

/// Waits until `done(word)`: spins first, sleeps after. Returns the word.
template <typename Done>
uint32_t wait_until(const std::atomic<uint32_t>& state, const Done& done) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::microseconds(50);
  for (int i = 0;; ++i) {
    const uint32_t word = state.load(std::memory_order_acquire);
    if (done(word)) return word;
    cpu_pause();
    if (i % 64 == 63 && Clock::now() > limit) break;
  }
  for (;;) {
    const uint32_t word = state.load(std::memory_order_acquire);
    if (done(word)) return word;
    state.wait(word, std::memory_order_acquire);
  }
}

}  // namespace

struct ThreadPool::State {
  int n_threads = 1;
  std::vector<std::thread> workers;
  alignas(64) std::atomic<uint32_t> word{0};
  alignas(64) std::atomic<int64_t> next_unit{0};
  // Written by the caller while the region is closed and nobody is inside.
  alignas(64) Body body = nullptr;
  void* context = nullptr;
  int64_t n_units = 0;
  std::atomic<bool> stopping{false};

  void claim_units(int thread) {
    for (;;) {
      const int64_t unit = next_unit.fetch_add(1, std::memory_order_relaxed);
      if (unit >= n_units) return;
      body(context, thread, unit);
    }
  }

  void worker(int thread) {
    uint32_t last_region = 0;
    for (;;) {
      uint32_t seen =
          wait_until(word, [&](uint32_t w) { return open_for(w, last_region) || stopping.load(); });
      if (stopping.load()) return;
      if (!word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel)) continue;
      last_region = seen / kRegion;
      claim_units(thread);
      const uint32_t left = word.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((left & (kOpen | kInside)) == 0) word.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  SKUA_CHECK_LE(1, n_threads);
  SKUA_CHECK_LT(static_cast<uint32_t>(n_threads), kInside);
  state_->n_threads = n_threads;
  for (int i = 1; i < n_threads; ++i) state_->workers.emplace_back([s = state_.get(), i] { s->worker(i); });
}

ThreadPool::~ThreadPool() {
  State& s = *state_;
  s.stopping.store(true);
  s.word.fetch_add(kRegion, std::memory_order_acq_rel);  // so that sleepers look again
  s.word.notify_all();
  for (std::thread& worker : s.workers) worker.join();
}

int ThreadPool::n_threads() const { return state_->n_threads; }

void ThreadPool::run(int64_t n_units, Body body, void* context) {
  State& s = *state_;
  if (s.n_threads == 1 || n_units <= 1) {
    for (int64_t unit = 0; unit < n_units; ++unit) body(context, 0, unit);
    return;
  }
  s.body = body;
  s.context = context;
  s.n_units = n_units;
  s.next_unit.store(0, std::memory_order_relaxed);
  s.word.fetch_add(kRegion | kOpen, std::memory_order_acq_rel);
  s.word.notify_all();
  s.claim_units(0);
  s.word.fetch_and(~kOpen, std::memory_order_acq_rel);
  wait_until(s.word, [](uint32_t word) { return (word & kInside) == 0; });
}

int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n;
}

}  // namespace skua
