// What a run starts from: the newest sound checkpoint of its folder, or the weights it was given.
#pragma once

#include <functional>
#include <string>

#include "config/job_config.h"
#include "trainer/manifest.h"
#include "trainer/step_runner.h"

namespace trainer {

// Where lines for the user go.
struct Tell {
  std::function<void(const std::string&)> line, warn;
};

struct RestoreContext {
  const config::JobConfig& job;
  std::string folder;  // of the checkpoints
  Fields model, settings;
  const Tell& tell;
};

struct Restored {
  Progress done;
  int64_t tokens_seen = 0;
};

// Gives the runner its first state, verified. Damaged checkpoints are told and passed over; those
// of another model or a newer format, and a folder without any that can be resumed, are UserErrors
// with exit code 4.
Restored restore_run(const RestoreContext& context, StepRunner& runner);

}  // namespace trainer
