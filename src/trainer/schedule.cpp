// The learning-rate schedule.
#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace trainer {

Schedule::Schedule(const config::LrSchedulerSection& section, int64_t steps)
    : warmup_(std::min(section.warmup_steps, steps)), floor_(section.min_lr_factor) {
  decay_ = steps - warmup_;
  if (section.decay_ratio) {
    // Half to even, as the reference rounds.
    const int64_t wanted =
        static_cast<int64_t>(std::nearbyint(static_cast<double>(steps) * *section.decay_ratio));
    decay_ = std::min(wanted, decay_);
  }
  // One more stable step keeps the last decay step above the floor.
  stable_ = steps + 1 - warmup_ - decay_;
  if (section.decay_type == "linear") {
    kind_ = Decay::linear;
  } else if (section.decay_type == "sqrt") {
    kind_ = Decay::sqrt;
  } else {
    CHECK(section.decay_type == "cosine");
    kind_ = Decay::cosine;
  }
}

double Schedule::factor(int64_t step) const {
  const int64_t k = step - 1;
  if (k < warmup_) return static_cast<double>(k + 1) / static_cast<double>(warmup_);
  if (k < warmup_ + stable_) return 1.0;
  const double p = static_cast<double>(k + 1 - (warmup_ + stable_)) / static_cast<double>(decay_);
  double g = 0;
  switch (kind_) {
    case Decay::linear:
      g = 1 - p;
      break;
    case Decay::sqrt:
      g = 1 - std::sqrt(p);
      break;
    case Decay::cosine:
      g = (1 + std::cos(std::numbers::pi * p)) / 2;
      break;
  }
  return floor_ + (1 - floor_) * g;
}

}  // namespace trainer
