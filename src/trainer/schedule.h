// The learning-rate schedule: warm-up, stable, decay (reference 5.10). Runs on the host, in double.
#pragma once

#include <cstdint>

#include "config/job_config.h"

namespace trainer {

class Schedule {
 public:
  Schedule(const config::LrSchedulerSection& section, int64_t steps);

  // Multiplier of the learning rate at train step `step`, counted from 1.
  double factor(int64_t step) const;

 private:
  enum class Decay : uint8_t { linear, sqrt, cosine };
  int64_t warmup_, stable_, decay_;
  Decay kind_;
  double floor_;
};

}  // namespace trainer
