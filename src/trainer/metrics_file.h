// metrics.jsonl of a run: one line a step, in the file when the step is told.
#pragma once

#include <cstdio>
#include <string>

#include "trainer/metrics.h"

namespace trainer {

class MetricsFile {
 public:
  // Keeps the lines of the first `steps_done` steps and drops all others: those of steps that will
  // run again, and a line that a killed run left half written.
  MetricsFile(const std::string& path, int64_t steps_done);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void write(const StepRecord& record);
  void sync();  // on the disk

 private:
  std::string path_;
  std::FILE* file_;
};

}  // namespace trainer
