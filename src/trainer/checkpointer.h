// When a run saves and what it starts from: torchtitan's [checkpoint] keys (reference 4.10, 5.11).
#pragma once

#include <memory>
#include <string>

#include "base/disk.h"
#include "config/job_config.h"
#include "trainer/manifest.h"
#include "trainer/restore.h"
#include "trainer/step_runner.h"

namespace trainer {

class Checkpointer {
 public:
  // `settings_json` is config::to_json of the settings; empty leaves settings out of checkpoints.
  Checkpointer(const config::JobConfig& job, const std::string& settings_json, base::Disk& disk,
               Tell tell);
  ~Checkpointer();  // waits for a save that is being written

  // Gives the runner its first state: the newest sound checkpoint, the one that load_step names,
  // checkpoint.initial_load_path, or the seed. Returns the steps done.
  Progress start(StepRunner& runner);

  // Saves step 0 for checkpoint.create_seed_checkpoint.
  void save_seed(const StepRunner& runner);

  bool saves() const;  // checkpoint.enable, and not load_only
  bool is_due(int64_t step) const;
  // After a step. A save that fails is a warning, and the run goes on; the last step's is thrown.
  void after_step(const Progress& done, const StepRunner& runner);
  // Has the state of `done` on the disk when it returns true; false after a warning.
  bool save_now(const Progress& done, const StepRunner& runner);
  // Waits for a save that is being written and tells how it ended.
  void finish();

 private:
  void save_last(const Progress& done, const StepRunner& runner);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainer
