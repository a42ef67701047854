// Signals that end a run between two steps.
#include "trainer/stop.h"

#include <atomic>
#include <csignal>

namespace trainer {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGUSR1};
// A handler can only reach what is static.
std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  caught = number;
  for (const int s : signals) std::signal(s, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  caught = 0;
  for (const int s : signals) std::signal(s, on_signal);
}

StopSignals::~StopSignals() {
  for (const int s : signals) std::signal(s, SIG_DFL);
}

int StopSignals::requested() const { return caught; }

}  // namespace trainer
