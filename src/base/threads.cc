// The pool: an epoch counter starts a region, a countdown ends it. Both are spun on for about 50 us before
// the waiter sleeps on the atomic.
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

/// Waits until `value` differs from `old`: spins first, sleeps after.
uint32_t wait_change(const std::atomic<uint32_t>& value, uint32_t old) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::microseconds(50);
  for (int i = 0;; ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    cpu_pause();
    if (i % 64 == 63 && Clock::now() > limit) break;
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::State {
  int n_threads = 1;
  std::vector<std::thread> workers;
  Body body = nullptr;
  void* context = nullptr;
  bool stopping = false;
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<uint32_t> pending{0};

  void worker(int thread) {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_change(epoch, seen);
      if (stopping) return;
      body(context, thread, n_threads);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }

  void start_region() {
    pending.store(static_cast<uint32_t>(n_threads - 1), std::memory_order_relaxed);
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  SKUA_CHECK_LE(1, n_threads);
  state_->n_threads = n_threads;
  for (int i = 1; i < n_threads; ++i) state_->workers.emplace_back([s = state_.get(), i] { s->worker(i); });
}

ThreadPool::~ThreadPool() {
  state_->stopping = true;
  if (state_->n_threads > 1) state_->start_region();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::n_threads() const { return state_->n_threads; }

void ThreadPool::run(Body body, void* context) {
  State& s = *state_;
  if (s.n_threads == 1) {
    body(context, 0, 1);
    return;
  }
  s.body = body;
  s.context = context;
  s.start_region();
  body(context, 0, s.n_threads);
  for (uint32_t left = s.pending.load(std::memory_order_acquire); left != 0;)
    left = wait_change(s.pending, left);
}

int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n;
}

}  // namespace skua
