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

struct StateTensor {
  enum class Part : uint8_t { weights, moments };
  std::string name;
  host::Shape shape;
  host::DType dtype;
  Part part;
};

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

  // What a checkpoint of the whole state holds: parameters, expert bias and moments.
  std::vector<StateTensor> saved_state() const;
  // Those moments: "exp_avg.NAME" and "exp_avg_sq.NAME". Like `weights`, handles to memory that
  // later steps replace and never write, so holding them keeps the state of this moment.
  NamedTensors moments() const;
  // Takes tensors of `saved_state`, in memory that nobody else writes. Parameters that are not
  // given start from the seed, everything else at zero.
  void restore(const NamedTensors& tensors, uint64_t seed);
  // How many optimizer steps were done before step 1; 0 unless said otherwise.
  void set_earlier_optimizer_steps(int64_t count);

  size_t node_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainer
