// A persistent pool for the step loop: workers spin for a moment, then sleep. Work is split by output index
// only, never by a sum, so results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>

namespace skua {

class ThreadPool {
 public:
  /// `n_threads` >= 1 counts the calling thread too; 1 starts no worker.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const;

  /// Body of a parallel region: called once per thread with its index and the number of threads.
  using Body = void (*)(void* context, int thread, int n_threads);

  /// Runs `body` on every thread and returns when all are done. Only one thread may call run at a time.
  void run(Body body, void* context);

  /// Calls fn(begin, end) over disjoint ranges that cover [0, n), at most one per thread, borders at
  /// multiples of `grain`.
  template <typename Fn>
  void for_ranges(int64_t n, int64_t grain, Fn&& fn) {
    struct Job {
      Fn* fn;
      int64_t n, grain;
    } job{&fn, n, grain};
    run(
        [](void* context, int thread, int n_threads) {
          auto* j = static_cast<Job*>(context);
          const int64_t units = (j->n + j->grain - 1) / j->grain;
          const int64_t begin = units * thread / n_threads * j->grain;
          int64_t end = units * (thread + 1) / n_threads * j->grain;
          if (end > j->n) end = j->n;
          if (begin < end) (*j->fn)(begin, end);
        },
        &job);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Number of CPUs this process may use (its affinity mask), at least 1.
int available_cpus();

}  // namespace skua
