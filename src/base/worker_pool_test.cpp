// The worker pool: every block once, the same division whatever the threads, failures of the
// lowest.
#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/error.h"

namespace base {
namespace {

TEST(WorkerPool, RunsEveryElementOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1001}) {
      for (const int64_t grain : {1, 3, 64, 5000}) {
        std::vector<int> hits(count, 0);
        pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++hits[i];
        });
        EXPECT_EQ(hits, std::vector<int>(count, 1)) << threads << " " << count << " " << grain;
      }
    }
  }
}

TEST(WorkerPool, BlocksDoNotDependOnTheThreads) {
  std::vector<std::set<std::pair<int64_t, int64_t>>> seen;
  for (const int threads : {1, 2, 5}) {
    const WorkerPool pool(threads);
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> blocks;
    pool.parallel_for(103, 10, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      blocks.insert({begin, end});
    });
    seen.push_back(std::move(blocks));
  }
  EXPECT_EQ(seen[0].size(), 11u);
  EXPECT_TRUE(seen[0].contains({100, 103}));
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(WorkerPool, ManyShortRoundsLoseNothing) {
  const WorkerPool pool(4);
  int64_t total = 0;
  std::vector<int64_t> partial(4);
  for (int round = 0; round < 5000; ++round) {
    pool.parallel_for(4, 1, [&](int64_t begin, int64_t) { partial[begin] = round; });
    total += std::accumulate(partial.begin(), partial.end(), int64_t{0});
  }
  EXPECT_EQ(total, 4 * int64_t{5000} * 4999 / 2);
}

TEST(WorkerPool, ThrowsWhatTheLowestBlockThrew) {
  for (const int threads : {1, 2, 4}) {
    const WorkerPool pool(threads);
    for (int repeat = 0; repeat < 200; ++repeat) {
      try {
        pool.parallel_for(64, 1, [&](int64_t begin, int64_t) {
          if (begin % 10 == 7) throw std::runtime_error(std::to_string(begin));
        });
        FAIL() << "no exception with " << threads << " threads";
      } catch (const std::runtime_error& e) {
        ASSERT_STREQ(e.what(), "7") << threads;
      }
    }
    std::atomic<int> blocks = 0;
    pool.parallel_for(8, 1, [&](int64_t, int64_t) { ++blocks; });
    EXPECT_EQ(blocks, 8) << "the pool works on after a failure";
  }
}

TEST(WorkerPool, RefusesANestedCall) {
  for (const int threads : {1, 2}) {
    const WorkerPool pool(threads);
    const auto nested = [&](int64_t, int64_t) { pool.parallel_for(1, 1, [](int64_t, int64_t) {}); };
    EXPECT_THROW(pool.parallel_for(4, 1, nested), InternalError);
  }
}

TEST(WorkerPool, SleepsAndWakes) {
  const WorkerPool pool(2);
  std::atomic<int> blocks = 0;
  for (int round = 0; round < 3; ++round) {
    // Long enough in one block for the other thread, and for the caller, to stop spinning.
    pool.parallel_for(2, 1, [&](int64_t begin, int64_t) {
      volatile int64_t work = 0;
      if (begin == round % 2) {
        for (int64_t i = 0; i < 3'000'000; ++i) work = work + 1;
      }
      ++blocks;
    });
    volatile int64_t pause = 0;
    for (int64_t i = 0; i < 3'000'000; ++i) pause = pause + 1;
  }
  EXPECT_EQ(blocks, 6);
}

}  // namespace
}  // namespace base
