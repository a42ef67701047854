// What a run tells: the step line on the terminal and metrics.jsonl.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainer {

struct StepRecord {
  int64_t step = 0;
  double loss = 0, grad_norm = 0, lr = 0;
  int64_t valid_tokens = 0;
  std::map<int64_t, std::vector<int64_t>> tokens_per_expert;  // by layer
  std::map<int64_t, std::vector<double>> expert_bias_after;   // by layer; empty without balancing
  double step_s = 0;
  uint64_t memory_bytes = 0;  // peak resident size of the process
  bool single = true;  // numbers come from float32: the shortest text that reads back as such
};

// One JSON object without the line end; keys as in the goldens' files. Non-finite numbers become
// null.
std::string to_json(const StepRecord& record);

// Load of the busiest expert over the mean, the largest of all layers; 0 without experts.
double expert_imbalance(const StepRecord& record);

struct RunFacts {
  int64_t steps = 0;
  int64_t tokens_per_step = 0;
  double flops_per_token = 0;
  double peak_flops = 0;      // of the machine, measured; 0: unknown, mfu is left out
  uint64_t memory_limit = 0;  // of the machine or its cgroup
  int64_t log_freq = 10;
};

// Prints to standard output: plain lines, colours on a terminal unless NO_COLOR is set or `colors`
// is off. Between log steps a status line is rewritten in place, on a terminal only.
class Console {
 public:
  enum class Colors : uint8_t { automatic, off };
  Console(RunFacts facts, Colors colors);
  ~Console();

  void line(const std::string& text);   // a line of its own
  void warn(const std::string& text);   // "warn   ..."
  void step(const StepRecord& record);  // a step line at step 1 and multiples of log_freq

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "21m", "1h 04m", "8s".
std::string human_duration(double seconds);

}  // namespace trainer
