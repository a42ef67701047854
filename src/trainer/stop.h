// Signals that end a run between two steps: SIGINT, SIGTERM, SIGUSR1.
#pragma once

namespace trainer {

// While it lives, the first of these signals only asks to stop; a second one ends the process at
// once, as if nobody had caught it.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int requested() const;  // the signal's number, 0 while there was none
};

}  // namespace trainer
