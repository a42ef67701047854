// Signals that end a run between two steps.
#include "trainer/stop.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace trainer {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGUSR1};
// A handler can only reach what is static.
std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char message[] = "\nfinishing this step, then stopping (again to quit now)\n";

void on_signal(int number) {
  caught = number;
  // To a terminal only: logs tell of the stop when the step has ended. Nothing can be done when it
  // fails.
  const int saved = errno;
  if (isatty(STDERR_FILENO)) {
    [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, message, sizeof(message) - 1);
  }
  errno = saved;
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
