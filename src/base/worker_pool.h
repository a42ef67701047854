// A small worker pool with static division of work, so that the same bits come out of any number of
// threads (architecture decision 6). Workers spin for a moment, then sleep.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace base {

class WorkerPool {
 public:
  // `threads` counts the caller too; 1 runs everything in the caller.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const;

  // Runs body(begin, end) over [0, count) in blocks of `grain` (the last one may be short); block b
  // goes to thread b * threads / blocks. Blocks, not threads, decide the bits: a body must depend
  // on its range only. The first exception of the lowest block is rethrown after all have ended.
  // Calls do not nest.
  void parallel_for(int64_t count, int64_t grain,
                    const std::function<void(int64_t begin, int64_t end)>& body) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace base
