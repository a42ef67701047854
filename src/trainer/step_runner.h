// Holds the state of a training run (weights, moments, expert bias) and runs its step graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "config/job_config.h"
#include "host/tensor.h"
#include "trainer/metrics.h"

namespace trainer {

// One micro-batch of the step, i64 [B, S] each. Labels of -100 are ignored. `documents` are
// ascending ids within a row, used only by models with document masks.
struct MicroBatch {
  host::Tensor tokens, labels, documents;
};

// Named tensors, in the order of their names.
using NamedTensors = std::map<std::string, host::Tensor>;

class StepRunner {
 public:
  StepRunner(const config::JobConfig& job, const base::WorkerPool& pool);
  ~StepRunner();

  // Start weights from the seed, or from a file that must hold every parameter: all that are
  // missing or of another shape are listed at once (UserError, exit 4). Moments start at zero.
  void start_from_seed(uint64_t seed);
  void start_from_file(const std::string& path);

  // Runs one step. Throws ops::CheckFailure when a check of the graph fails or a number is not
  // finite (Exit::numerics): weights, moments and expert bias are then as before the step.
  StepRecord step(int64_t number, std::span<const MicroBatch> micro_batches, double lr);
  // The same, and gives what `debug.dump_step` writes, under the goldens' names.
  StepRecord step_with_dump(int64_t number, std::span<const MicroBatch> micro_batches, double lr,
                            NamedTensors& dump);

  // Parameters and expert bias by name (the reference's names).
  NamedTensors weights() const;

  size_t node_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainer
