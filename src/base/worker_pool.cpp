// The worker pool: one job at a time, handed over through two atomics. A waiting thread spins for a
// moment (the next op usually follows within microseconds), then sleeps on the atomic's futex.
#include "base/worker_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace base {
namespace {

// About 50 us: longer than the gap between two ops, far shorter than a scheduler's time slice.
constexpr int spins_before_sleep = 1000;

struct Job {
  int64_t count = 0;
  int64_t grain = 1;
  int64_t blocks = 0;
  const std::function<void(int64_t, int64_t)>* body = nullptr;
};

// Runs the blocks of `thread`, ascending; stops at the first exception and returns it.
std::exception_ptr run_blocks(const Job& job, int thread, int threads) noexcept {
  const int64_t first = (thread * job.blocks + threads - 1) / threads;
  const int64_t last = ((thread + 1) * job.blocks + threads - 1) / threads;
  try {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = b * job.grain;
      (*job.body)(begin, begin + std::min(job.grain, job.count - begin));
    }
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// Returns once `value` differs from `old`, with what was stored before it visible.
void wait_while_equal(const std::atomic<int>& value, int old) {
  for (int i = 0; i < spins_before_sleep; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    _mm_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct WorkerPool::State {
  int threads = 1;
  Job job;                                   // written by the caller before `round` changes
  std::vector<std::exception_ptr> failures;  // one a thread, read after `running` is 0
  std::atomic<int> round = 0;                // changes when a job starts; negative: end of the pool
  std::atomic<int> running = 0;              // workers that have not finished the job
  std::atomic<bool> busy = false;
  std::vector<std::thread> workers;

  void work(int thread) {
    int seen = 0;
    while (true) {
      wait_while_equal(round, seen);
      seen = round.load(std::memory_order_acquire);
      if (seen < 0) return;
      failures[thread] = run_blocks(job, thread, threads);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void stop() {
    round.store(-1, std::memory_order_release);
    round.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }
};

WorkerPool::WorkerPool(int threads) : state_(std::make_unique<State>()) {
  CHECK(threads >= 1);
  state_->threads = threads;
  state_->failures.resize(threads);
  try {
    for (int t = 1; t < threads; ++t) {
      state_->workers.emplace_back([state = state_.get(), t] { state->work(t); });
    }
  } catch (const std::system_error& e) {
    state_->stop();
    throw SystemError(Exit::memory, format("cannot start {} threads: {}", threads, e.what()),
                      e.code().value());
  }
}

WorkerPool::~WorkerPool() { state_->stop(); }

int WorkerPool::threads() const { return state_->threads; }

void WorkerPool::parallel_for(int64_t count, int64_t grain,
                              const std::function<void(int64_t, int64_t)>& body) const {
  CHECK(count >= 0 && grain >= 1);
  if (count == 0) return;
  State& s = *state_;
  CHECK(!s.busy.exchange(true, std::memory_order_acquire));  // a nested or a concurrent call
  s.job = {count, grain, (count - 1) / grain + 1, &body};
  if (s.threads == 1 || s.job.blocks == 1) {
    std::exception_ptr failure = run_blocks(s.job, 0, 1);
    s.busy.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return;
  }
  s.running.store(s.threads - 1, std::memory_order_relaxed);
  const int round = s.round.load(std::memory_order_relaxed);
  s.round.store((round + 1) & 0x7fffffff, std::memory_order_release);
  s.round.notify_all();
  s.failures[0] = run_blocks(s.job, 0, s.threads);
  for (int left = s.running.load(std::memory_order_acquire); left != 0;
       left = s.running.load(std::memory_order_acquire)) {
    wait_while_equal(s.running, left);
  }
  // Threads hold ascending ranges of blocks, so the first failure is that of the lowest block.
  std::exception_ptr failure;
  for (std::exception_ptr& f : s.failures) {
    if (f && !failure) failure = f;
    f = nullptr;
  }
  s.busy.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace base
