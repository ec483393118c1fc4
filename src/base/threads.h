// A persistent pool for the step loop: workers spin for a moment, then sleep. Work is cut into units that
// threads claim one at a time, so a worker that the system has put aside delays nobody: the others do its
// share. Units are cut by output index only, never by a sum, so results do not depend on who does what.
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

  /// One unit of work: `thread` in [0, n_threads) is the thread that runs it (one unit at a time each).
  using Body = void (*)(void* context, int thread, int64_t unit);

  /// Runs units 0..n_units-1, each once, and returns when all are done. Units must not wait for each other.
  /// Only one thread may call run at a time.
  void run(int64_t n_units, Body body, void* context);

  /// The same for a callable fn(thread, unit).
  template <typename Fn>
  void run_units(int64_t n_units, const Fn& fn) {
    const Fn* job = &fn;
    run(
        n_units,
        [](void* context, int thread, int64_t unit) { (**static_cast<const Fn**>(context))(thread, unit); },
        &job);
  }

  /// Calls fn(begin, end) over disjoint ranges that cover [0, n), about one per thread, borders at multiples
  /// of `grain`.
  template <typename Fn>
  void for_ranges(int64_t n, int64_t grain, const Fn& fn) {
    const int64_t grains = (n + grain - 1) / grain;
    const int64_t n_units = grains < n_threads() ? grains : n_threads();
    run_units(n_units, [&](int, int64_t unit) {
      const int64_t begin = grains * unit / n_units * grain;
      const int64_t end = grains * (unit + 1) / n_units * grain;
      fn(begin, end < n ? end : n);
    });
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Number of CPUs this process may use (its affinity mask), at least 1.
int available_cpus();

}  // namespace skua
