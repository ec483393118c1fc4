#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace skua {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceWhateverTheThreadCount) {
  for (int n_threads : {1, 2, 3, 7}) {
    ThreadPool pool(n_threads);
    for (int64_t n : {0, 1, 5, 64, 1000}) {
      std::vector<int> hits(static_cast<size_t>(n), 0);
      for (int repeat = 0; repeat < 50; ++repeat) {
        pool.for_ranges(n, 8, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
      }
      for (int hit : hits) ASSERT_EQ(hit, 50);
    }
  }
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  int64_t sum[2] = {0, 0};
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.for_ranges(2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum[i] += i + 1;
    });
  }
  EXPECT_EQ(sum[0], 5);
  EXPECT_EQ(sum[1], 10);
}

TEST(ThreadPool, EveryUnitRunsOnceAndThreadsNeverOverlap) {
  ThreadPool pool(3);
  std::vector<int> hits(40, 0);
  std::vector<std::atomic<int>> busy(3);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    pool.run_units(40, [&](int thread, int64_t unit) {
      EXPECT_EQ(busy[static_cast<size_t>(thread)].fetch_add(1), 0);
      ++hits[static_cast<size_t>(unit)];
      busy[static_cast<size_t>(thread)].fetch_sub(1);
    });
  }
  for (const int hit : hits) EXPECT_EQ(hit, 3000);
}

TEST(ThreadPool, AWorkerThatIsPutAsideDelaysNobody) {
  ThreadPool pool(2);
  std::atomic<bool> release{false};
  std::atomic<int> done{0};
  // The first unit that the worker gets blocks it until the caller has done all others alone.
  pool.run_units(20, [&](int thread, int64_t) {
    if (thread == 1) {
      while (!release.load()) std::this_thread::yield();
    }
    const int now = ++done;
    if (thread == 0 && now >= 19) release.store(true);
    if (thread == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(done.load(), 20);
}

}  // namespace
}  // namespace skua
