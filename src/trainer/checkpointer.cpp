// The policy of saving: intervals, the background writer, how many to keep.
#include "trainer/checkpointer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "trainer/checkpoint.h"

namespace trainer {

using base::Exit;

namespace {

// Niceness of the writer: the threads of the step take the cores first, yet a save still ends on a
// machine that others keep busy (at 19 it might not).
constexpr int writer_niceness = 15;

enum class Purge : uint8_t { no, yes };
enum class Writer : uint8_t { caller, background };

// A save that is being written. The tensors are dropped by the thread that made the snapshot, after
// the join: no kernel can see itself as the only owner of memory that is still being read.
struct Save {
  Snapshot snapshot;
  Purge purge = Purge::no;
  Writer by = Writer::caller;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  // Written by the writer, read after `ended`.
  uint64_t bytes = 0;
  double seconds = 0;
  std::exception_ptr failure;
  std::vector<std::string> notes;
  std::atomic<bool> ended = false;
  std::thread thread;
};

NamedTensors cast_weights(const NamedTensors& weights, const std::string& dtype_name) {
  const host::DType dtype = dtype_name == "bfloat16" ? host::DType::bf16 : host::DType::f16;
  NamedTensors out;
  for (const auto& [name, tensor] : weights) out[name] = host::cast(tensor, dtype);
  return out;
}

}  // namespace

struct Checkpointer::State {
  State(const config::JobConfig& job_config, base::Disk& real_disk, Tell teller)
      : job(job_config),
        section(job_config.checkpoint),
        disk(real_disk),
        tell(std::move(teller)),
        folder(base::join_path(job.job.dump_folder, section.folder)) {}

  const config::JobConfig& job;
  const config::CheckpointSection& section;
  base::Disk& disk;
  Tell tell;
  std::string folder;
  Manifest facts;  // what every checkpoint of this run says
  Restored started;
  std::optional<base::FileLock> lock;
  bool may_have_newer = true;  // checkpoints past the one that the run started from
  std::unique_ptr<Save> save;  // in the background
  std::optional<int64_t> last_saved;

  std::unique_ptr<Save> prepare(const Progress& done, const StepRunner& runner,
                                Contents contents) const;
  void write(Save& s);
  void set_newer_aside(Save& s);
  void remove_oldest(Save& s);
  void write_in_background(std::unique_ptr<Save> s);
  bool conclude(const Save& s);
  void finish();
};

std::unique_ptr<Save> Checkpointer::State::prepare(const Progress& done, const StepRunner& runner,
                                                   Contents contents) const {
  auto s = std::make_unique<Save>();
  Manifest& m = s->snapshot.facts;
  m = facts;
  m.step = done.train;
  m.contents = contents;
  m.progress = done;
  m.tokens_seen = started.tokens_seen + (done.train - started.done.train) *
                                            job.training.global_batch_size * job.training.seq_len;
  s->snapshot.weights = runner.weights();
  if (contents == Contents::all) s->snapshot.moments = runner.moments();
  return s;
}

// Steps past the one that the run started from are of a run that was given up, or damaged: the next
// start must not take them for the newest.
void Checkpointer::State::set_newer_aside(Save& s) {
  if (!may_have_newer) return;
  for (const int64_t step : list_checkpoints(folder)) {
    if (step <= started.done.train) continue;
    const std::string kept = set_aside(disk, folder, step);
    s.notes.push_back(
        base::format("checkpoint step {} is not of this run: kept as {}", step, kept));
  }
  may_have_newer = false;
}

void Checkpointer::State::remove_oldest(Save& s) {
  if (s.purge == Purge::no || section.keep_latest_k == 0) return;
  try {
    std::vector<int64_t> steps = list_checkpoints(folder);
    const size_t keep = static_cast<size_t>(section.keep_latest_k);
    steps.resize(steps.size() - std::min(keep, steps.size()));
    for (const int64_t step : steps) remove_checkpoint(disk, folder, step);
  } catch (const base::Error& e) {
    s.notes.push_back("an old checkpoint was not removed: " + e.message());
  }
}

void Checkpointer::State::write(Save& s) {
  try {
    set_newer_aside(s);
    s.bytes = write_checkpoint(disk, folder, s.snapshot);
    remove_oldest(s);
  } catch (...) {
    s.failure = std::current_exception();
  }
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - s.start).count();
  s.ended = true;
}

void Checkpointer::State::write_in_background(std::unique_ptr<Save> s) {
  s->by = Writer::background;
  save = std::move(s);
  save->thread = std::thread([this, &running = *save] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), writer_niceness);  // this thread's
    write(running);
  });
}

// Tells how a save ended. Only a bug of ours is thrown.
bool Checkpointer::State::conclude(const Save& s) {
  for (const std::string& note : s.notes) tell.warn(note);
  const int64_t step = s.snapshot.facts.step;
  try {
    if (s.failure) std::rethrow_exception(s.failure);
  } catch (const base::InternalError&) {
    throw;
  } catch (const std::exception& e) {
    const std::string newest = last_saved
                                   ? base::format("the newest checkpoint is step {}", *last_saved)
                                   : "this run has saved no checkpoint yet";
    tell.warn(base::format("step {} was not saved: {}\n       the run goes on; {}", step, e.what(),
                           newest));
    return false;
  }
  last_saved = step;
  tell.line(base::format("saved   step {}  {}  ({}, {:.1f} s{})", step,
                         checkpoint_path(folder, step), base::human_bytes(s.bytes), s.seconds,
                         s.by == Writer::background ? ", training not stopped" : ""));
  return true;
}

void Checkpointer::State::finish() {
  if (!save) return;
  save->thread.join();
  const std::unique_ptr<Save> ended = std::move(save);
  conclude(*ended);
}

Checkpointer::Checkpointer(const config::JobConfig& job, const std::string& settings_json,
                           base::Disk& disk, Tell tell)
    : state_(std::make_unique<State>(job, disk, std::move(tell))) {
  state_->facts.model = model_fields(job.model.args, job.training.dtype);
  if (!settings_json.empty()) state_->facts.settings = settings_fields(settings_json);
}

Checkpointer::~Checkpointer() {
  if (state_->save) state_->save->thread.join();
}

Progress Checkpointer::start(StepRunner& runner) {
  State& s = *state_;
  if (saves() && s.section.create_seed_checkpoint) {
    const std::vector<int64_t> there = list_checkpoints(s.folder);
    if (!there.empty()) {
      base::fail_user(Exit::checkpoint,
                      "checkpoint.create_seed_checkpoint: {} is there already; the seed checkpoint "
                      "is the first of its folder",
                      checkpoint_path(s.folder, there.back()));
    }
  }
  const Restored restored =
      restore_run({s.job, s.folder, s.facts.model, s.facts.settings, s.tell}, runner);
  if (saves()) {
    base::make_directories(s.folder, Exit::checkpoint);
    s.lock.emplace(base::join_path(s.folder, ".lock"), "another run saves into this folder",
                   Exit::checkpoint);
    remove_leftovers(s.disk, s.folder);
  }
  s.started = restored;
  return restored.done;
}

void Checkpointer::save_seed(const StepRunner& runner) {
  const auto save = state_->prepare({}, runner, Contents::model);
  state_->write(*save);
  if (save->failure) std::rethrow_exception(save->failure);
  state_->conclude(*save);
}

bool Checkpointer::saves() const { return state_->section.enable && !state_->section.load_only; }

bool Checkpointer::is_due(int64_t step) const {
  const State& s = *state_;
  return saves() && (step == s.job.training.steps || step % s.section.interval == 0 ||
                     (step == 1 && s.section.enable_first_step_checkpoint));
}

void Checkpointer::after_step(const Progress& done, const StepRunner& runner) {
  State& s = *state_;
  if (s.save && s.save->ended) s.finish();
  if (!is_due(done.train)) return;
  s.finish();  // one save at a time
  if (done.train == s.job.training.steps) return save_last(done, runner);
  auto save = s.prepare(done, runner, Contents::all);
  save->purge = Purge::yes;
  if (s.section.async_mode != "disabled") return s.write_in_background(std::move(save));
  s.write(*save);
  s.conclude(*save);
}

// Nothing comes after it that could still save the run: a failure is an error.
void Checkpointer::save_last(const Progress& done, const StepRunner& runner) {
  State& s = *state_;
  const Contents contents = s.section.last_save_model_only ? Contents::model : Contents::all;
  const auto save = s.prepare(done, runner, contents);
  // A wider type than the run's gains nothing (reference 5.11).
  if (contents == Contents::model && s.section.export_dtype != "float32") {
    save->snapshot.weights = cast_weights(save->snapshot.weights, s.section.export_dtype);
  }
  s.write(*save);
  try {
    if (save->failure) std::rethrow_exception(save->failure);
  } catch (base::Error& e) {
    e.add_note(base::format("the last step, {}, was not saved", done.train));
    throw;
  }
  s.conclude(*save);
}

bool Checkpointer::save_now(const Progress& done, const StepRunner& runner) {
  State& s = *state_;
  s.finish();
  if (s.last_saved == done.train) return true;
  const auto save = s.prepare(done, runner, Contents::all);
  save->purge = Purge::yes;
  s.write(*save);
  return s.conclude(*save);
}

void Checkpointer::finish() { state_->finish(); }

}  // namespace trainer
