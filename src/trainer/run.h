// The step loop of `heddle train`: from start weights to the last step, telling what happens.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/job_config.h"
#include "trainer/step_runner.h"

namespace trainer {

// Where a run's batches come from. `batches(step)` gives the micro-batches of a step, counted from
// 1, as a function of the step alone.
struct BatchSource {
  std::function<std::vector<MicroBatch>(int64_t step)> batches;
  std::string description;                // "novels, 0.95M tokens"
  std::optional<double> unigram_entropy;  // of the training tokens, in nats
};

struct RunSetup {
  BatchSource source;
  int threads = 1;
  std::string
      resolved_config;  // text of the resolved settings with origins, kept in the run folder
  std::string
      settings_json;  // the same as JSON, without origins; checkpoints keep what steers numbers
  std::string command_line;
  double peak_flops = 0;  // FMA peak of the machine per second; 0: unknown
  uint64_t memory_limit = 0;
};

// Returns the exit code: 0; after a signal that stopped the run between two steps 75 when that step
// was saved, 4 when it could not be, and 128 + the signal (130 for Ctrl-C) with checkpoints off.
// Throws the three error types; a number that is not finite ends in Exit::numerics.
int run_training(const config::JobConfig& job, const RunSetup& setup);

}  // namespace trainer
