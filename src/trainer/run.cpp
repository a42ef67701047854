// The step loop.
#include "trainer/run.h"

#include <deque>
#include <numeric>

#include "base/disk.h"
#include "base/error.h"
#include "base/files.h"
#include "base/worker_pool.h"
#include "host/measure.h"
#include "host/safetensors.h"
#include "ops/core/eval.h"
#include "trainer/checkpointer.h"
#include "trainer/metrics.h"
#include "trainer/metrics_file.h"
#include "trainer/schedule.h"
#include "trainer/stop.h"

namespace trainer {

namespace {

constexpr const char* version = "0.1.0";
constexpr int64_t tail_steps = 20;  // whose mean loss the last line gives

std::string millions(int64_t count) {
  return base::format("{:.1f}M", static_cast<double>(count) / 1e6);
}

std::string model_line(const config::JobConfig& job) {
  const config::ModelArgs& a = job.model.args;
  const config::ParameterCounts counts = config::count_parameters(a);
  std::string layers = base::format("{} layers", a.n_layers);
  if (a.n_moe_layers() > 0) {
    layers += base::format(" ({} dense, {} MoE), {} experts top-{}", a.n_layers - a.n_moe_layers(),
                           a.n_moe_layers(), a.moe_args.num_experts, a.moe_args.top_k);
  }
  return base::format("heddle {}  {} {}: {}, {} parameters, {} active", version, job.model.name,
                      job.model.flavor, layers, millions(counts.total), millions(counts.active));
}

int64_t tokens_per_step(const config::JobConfig& job) {
  return job.training.global_batch_size * job.training.seq_len;
}

void print_header(Console& console, const config::JobConfig& job, const RunSetup& setup,
                  size_t nodes) {
  const auto commas = [](int64_t n) { return base::with_commas(static_cast<uint64_t>(n)); };
  console.line(model_line(job));
  console.line(
      base::format("mesh    1 rank, {} threads        batch {} x {} = {} tokens/step      data {}",
                   setup.threads, job.training.global_batch_size, commas(job.training.seq_len),
                   commas(tokens_per_step(job)), setup.source.description));
  console.line(base::format("plan    {} nodes, {} experts, {}", commas(static_cast<int64_t>(nodes)),
                            job.model.args.moe_args.use_grouped_mm ? "grouped" : "for-loop",
                            job.training.dtype));
  const bool recompute = job.activation_checkpoint.mode != "none";
  if (job.compile.enable || recompute) {
    console.line(
        base::format("note    the compiler is not there yet: {} the reference interpreter; the "
                     "numbers are the same",
                     job.compile.enable && recompute ? "compile and activation_checkpoint run"
                     : recompute                     ? "activation_checkpoint runs"
                                                     : "compile runs"));
  }
}

void write_dump(const config::JobConfig& job, const std::string& name,
                const NamedTensors& tensors) {
  const std::string folder = base::join_path(job.job.dump_folder, "debug");
  base::make_directories(folder, base::Exit::config);
  std::vector<host::NamedTensor> list;
  for (const auto& [tensor_name, tensor] : tensors)
    list.push_back({tensor_name, tensor.contiguous()});
  host::write_safetensors(base::join_path(folder, name), list, {}, base::Exit::config);
}

NamedTensors final_weights(const StepRunner& runner) {
  NamedTensors out;
  for (auto& [name, tensor] : runner.weights()) {
    if (!name.ends_with(".expert_bias")) out["final." + name] = tensor;
  }
  return out;
}

// The mean of the last losses, with the text's own entropy beside it: a model that has learnt more
// than how often each token occurs is below it.
std::string closing_line(const config::JobConfig& job, const RunSetup& setup, int64_t step,
                         const std::deque<double>& losses) {
  const char* how = step == job.training.steps ? "done   " : "stopped";
  std::string out = base::format("{} step {} of {}", how, step, job.training.steps);
  if (!losses.empty()) {
    const double mean =
        std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
    out += base::format(", mean loss of the last {} steps {:.4f}", losses.size(), mean);
  }
  if (setup.source.unigram_entropy) {
    out += base::format(" (unigram entropy of the text {:.4f})", *setup.source.unigram_entropy);
  }
  return out +
         base::format(", metrics in {}", base::join_path(job.job.dump_folder, "metrics.jsonl"));
}

// `done` counts the steps with this one.
StepRecord run_step(StepRunner& runner, const config::JobConfig& job, const RunSetup& setup,
                    const Progress& done, double lr) {
  const int64_t step = done.train;
  const std::vector<MicroBatch> batches = setup.source.batches(done.data);
  StepRecord record;
  try {
    if (job.debug.dump_step == step) {
      NamedTensors dump;
      record = runner.step_with_dump(step, batches, lr, dump);
      write_dump(job, base::format("step-{}.safetensors", step), dump);
    } else {
      record = runner.step(step, batches, lr);
    }
  } catch (ops::CheckFailure& e) {
    if (e.exit() == base::Exit::numerics) {
      e.add_note(
          base::format("step {} was not applied: weights, moments and expert bias are those of "
                       "step {}",
                       step, step - 1));
      e.add_note("try a lower optimizer.lr or a longer lr_scheduler.warmup_steps");
    }
    throw;
  }
  record.memory_bytes = host::peak_resident_bytes();
  return record;
}

// After the start state is there: a run that is refused leaves the files of the one before alone.
void write_run_files(const config::JobConfig& job, const RunSetup& setup) {
  const std::string& folder = job.job.dump_folder;
  base::make_directories(folder, base::Exit::config);
  base::write_file(base::join_path(folder, "config.toml"), setup.resolved_config,
                   base::Exit::config);
  base::write_file(base::join_path(folder, "command.txt"), setup.command_line + "\n",
                   base::Exit::config);
}

RunFacts run_facts(const config::JobConfig& job, const RunSetup& setup) {
  return {.steps = job.training.steps,
          .tokens_per_step = tokens_per_step(job),
          .flops_per_token = config::flops_per_token(job.model.args, job.training.seq_len),
          .peak_flops = setup.peak_flops,
          .memory_limit = setup.memory_limit,
          .log_freq = job.metrics.log_freq};
}

// Ends a run that a signal stopped between two steps; returns the exit code.
int stop(int signal, const Progress& done, Checkpointer& checkpoints, const StepRunner& runner,
         Console& console) {
  if (!checkpoints.saves()) {
    console.warn(
        "stopped by a signal; nothing was saved (checkpoints are off), so the run starts "
        "over next time");
    return 128 + signal;
  }
  if (!checkpoints.save_now(done, runner)) return static_cast<int>(base::Exit::checkpoint);
  console.line("stopped by a signal; the same command resumes");
  return static_cast<int>(base::Exit::stopped);
}

// The steps from `done` on; returns the exit code.
int run_steps(const config::JobConfig& job, const RunSetup& setup, Progress done,
              StepRunner& runner, Checkpointer& checkpoints, Console& console) {
  const Schedule schedule(job.lr_scheduler, job.training.steps);
  MetricsFile metrics(base::join_path(job.job.dump_folder, "metrics.jsonl"), done.train);
  const StopSignals signals;
  std::deque<double> losses;
  while (done.train < job.training.steps) {
    ++done.train, ++done.optimizer, ++done.schedule, ++done.data;
    const double lr = job.optimizer.lr * schedule.factor(done.schedule);
    const StepRecord record = run_step(runner, job, setup, done, lr);
    metrics.write(record);
    console.step(record);
    losses.push_back(record.loss);
    if (losses.size() > static_cast<size_t>(tail_steps)) losses.pop_front();
    if (checkpoints.is_due(done.train)) metrics.sync();
    checkpoints.after_step(done, runner);
    if (const int signal = signals.requested(); signal && done.train < job.training.steps) {
      console.line(closing_line(job, setup, done.train, losses));
      metrics.sync();
      return stop(signal, done, checkpoints, runner, console);
    }
  }
  if (job.debug.dump_step) write_dump(job, "final.safetensors", final_weights(runner));
  console.line(closing_line(job, setup, done.train, losses));
  return 0;
}

}  // namespace

int run_training(const config::JobConfig& job, const RunSetup& setup) {
  const base::WorkerPool pool(setup.threads);
  StepRunner runner(job, pool);
  Console console(run_facts(job, setup), job.metrics.disable_color_printing
                                             ? Console::Colors::off
                                             : Console::Colors::automatic);
  print_header(console, job, setup, runner.node_count());
  base::Disk disk(base::Exit::checkpoint);
  Checkpointer checkpoints(job, setup.settings_json, disk,
                           {.line = [&](const std::string& text) { console.line(text); },
                            .warn = [&](const std::string& text) { console.warn(text); }});
  const Progress done = checkpoints.start(runner);
  write_run_files(job, setup);
  if (job.checkpoint.create_seed_checkpoint && checkpoints.saves()) {
    checkpoints.save_seed(runner);
    return 0;
  }
  return run_steps(job, setup, done, runner, checkpoints, console);
}

}  // namespace trainer
