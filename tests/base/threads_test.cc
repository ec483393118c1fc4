#include "base/threads.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skua
