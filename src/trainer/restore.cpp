// Resuming and initial loads.
#include "trainer/restore.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "trainer/checkpoint.h"

namespace trainer {

using base::Exit;

namespace {

// A checkpoint without moments is sound, but a run does not go on from it.
class WeightsOnly : public base::UserError {
  using base::UserError::UserError;
};

std::string shape_text(const host::Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += base::format("{}{}", i ? ", " : "", shape[i]);
  return out + "]";
}

std::string indented(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "\n  " + line;
  return out;
}

bool is_part(const StateTensor& tensor, Parts parts) {
  return parts == Parts::all ||
         (parts == Parts::weights) == (tensor.part == StateTensor::Part::weights);
}

enum class Casts : uint8_t { none, floats };

// How the tensors of a checkpoint differ from those that the model has.
std::vector<std::string> misfits(const Manifest& manifest, const StepRunner& runner, Parts parts,
                                 Casts casts) {
  std::vector<std::string> out;
  std::map<std::string, bool> known;
  for (const StateTensor& t : runner.saved_state()) {
    known[t.name] = true;
    if (!is_part(t, parts)) continue;
    const auto at = manifest.tensors.find(t.name);
    if (at == manifest.tensors.end()) {
      // Weights without balancing state start balancing from zero.
      const bool may_lack = casts == Casts::floats && t.name.ends_with(".expert_bias");
      if (!may_lack) out.push_back(base::format("missing: {} {}", t.name, shape_text(t.shape)));
      continue;
    }
    const StoredTensor& stored = at->second;
    const bool same_type =
        casts == Casts::none ? stored.dtype == t.dtype : base::is_float(stored.dtype);
    if (stored.shape != t.shape || !same_type) {
      out.push_back(base::format("{}: {} {} expected, {} {} found", t.name, t.dtype,
                                 shape_text(t.shape), stored.dtype, shape_text(stored.shape)));
    }
  }
  for (const auto& [name, stored] : manifest.tensors) {
    if (!known[name]) out.push_back("not in the model: " + name);
  }
  return out;
}

class Restorer {
 public:
  Restorer(const RestoreContext& context, StepRunner& runner)
      : c_(context), runner_(runner), seed_(static_cast<uint64_t>(context.job.debug.seed)) {}

  // From the run's own folder; nothing when there is no checkpoint in it.
  std::optional<Restored> resume();
  Restored initial_load(const std::string& path);

 private:
  bool excluded(std::string_view part) const {
    const auto& list = c_.job.checkpoint.exclude_from_loading;
    return std::ranges::find(list, part) != list.end();
  }
  Restored load(const std::string& path, const Manifest& manifest);
  Restored resume_step(int64_t step);
  Restored load_weights(const std::string& path, const Manifest& manifest);
  void check_model(const std::string& path, const Manifest& manifest) const;
  void tell_settings(const Manifest& manifest) const;

  const RestoreContext& c_;
  StepRunner& runner_;
  uint64_t seed_;
};

void Restorer::check_model(const std::string& path, const Manifest& manifest) const {
  const auto different = differences(manifest.model, c_.model);
  if (different.empty()) return;
  throw ForeignCheckpoint(
      Exit::checkpoint, base::format("{}: is of another model:{}\n  use another job.dump_folder or "
                                     "checkpoint.folder, or the model of the checkpoint",
                                     path, indented(different)));
}

void Restorer::tell_settings(const Manifest& manifest) const {
  if (manifest.settings.empty() || c_.settings.empty()) return;
  const auto different = differences(manifest.settings, c_.settings);
  if (different.empty()) return;
  c_.tell.warn("the settings are not those of the checkpoint, so this is not the same run:" +
               indented(different));
}

// The parts that are not excluded. Steps of an excluded part start over.
Restored Restorer::load(const std::string& path, const Manifest& manifest) {
  check_model(path, manifest);
  const bool is_seed = manifest.step == 0;  // then only the model counts (reference 5.11)
  const bool is_complete = manifest.progress.train >= c_.job.training.steps;
  const bool wants_moments = !excluded("optimizer") && !is_seed;
  const bool has_moments = manifest.contents == Contents::all;
  if (wants_moments && !has_moments && !is_complete) {
    throw WeightsOnly(Exit::checkpoint,
                      base::format("{}: holds weights only, and the run is to go on to step {}; "
                                   "--checkpoint.exclude_from_loading optimizer goes on from its "
                                   "weights, with moments at zero",
                                   path, c_.job.training.steps));
  }
  const bool reads_moments = wants_moments && has_moments, reads_weights = !excluded("model");
  NamedTensors tensors;
  if (reads_moments || reads_weights) {
    const Parts parts = !reads_moments  ? Parts::weights
                        : reads_weights ? Parts::all
                                        : Parts::moments;
    // The last checkpoint may be in another type: it is then the end of the run, or excluded.
    const Casts casts = has_moments ? Casts::none : Casts::floats;
    const auto wrong = misfits(manifest, runner_, parts, casts);
    if (!wrong.empty()) {
      base::fail_user(Exit::checkpoint, "{}: does not fit the model:{}", path, indented(wrong));
    }
    tensors = read_tensors(path, manifest, parts);
    for (const StateTensor& t : runner_.saved_state()) {
      if (tensors.contains(t.name)) tensors[t.name] = host::cast(tensors[t.name], t.dtype);
    }
  }
  runner_.restore(tensors, seed_);
  Restored out{manifest.progress, manifest.tokens_seen};
  if (excluded("train_state")) out.done.train = 0, out.tokens_seen = 0;
  if (excluded("optimizer") || is_seed) out.done.optimizer = 0;
  if (excluded("lr_scheduler")) out.done.schedule = 0;
  if (excluded("dataloader")) out.done.data = 0;
  runner_.set_earlier_optimizer_steps(out.done.optimizer - out.done.train);
  tell_settings(manifest);
  return out;
}

Restored Restorer::resume_step(int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  const std::string path = checkpoint_path(c_.folder, step);
  const Manifest manifest = read_manifest(path);
  if (manifest.step != step) {
    base::fail_user(Exit::checkpoint, "{}: the manifest says it is of step {}", path,
                    manifest.step);
  }
  const Restored out = load(path, manifest);
  uint64_t bytes = 0;
  for (const Shard& shard : manifest.shards) bytes += shard.bytes;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  c_.tell.line(base::format("resume  step {}  {}  ({}, verified, {:.1f} s)", step, path,
                            base::human_bytes(bytes), seconds));
  return out;
}

std::optional<Restored> Restorer::resume() {
  std::vector<int64_t> steps = list_checkpoints(c_.folder);
  const int64_t wanted = c_.job.checkpoint.load_step;
  if (wanted >= 0) {
    if (std::ranges::find(steps, wanted) != steps.end()) return resume_step(wanted);
    std::vector<std::string> there;
    for (const int64_t step : steps) there.push_back(std::to_string(step));
    base::fail_user(Exit::checkpoint, "checkpoint.load_step is {}: {} has {}", wanted, c_.folder,
                    there.empty() ? "no checkpoints" : "steps " + base::join(there, ", "));
  }
  std::vector<std::string> problems;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      return resume_step(*step);
    } catch (const ForeignCheckpoint&) {
      throw;
    } catch (const base::InternalError&) {
      throw;
    } catch (const base::Error& e) {
      problems.push_back(e.message());
      const bool has_older = std::next(step) != steps.rend();
      if (has_older) {
        c_.tell.warn(base::format("{}\n       step {} is passed over: trying step {}", e.message(),
                                  *step, *std::next(step)));
      }
    }
  }
  if (problems.empty()) return std::nullopt;
  base::fail_user(Exit::checkpoint,
                  "no checkpoint in {} can be resumed:{}\n  rename or remove the folder to start "
                  "from the beginning",
                  c_.folder, indented(problems));
}

Restored Restorer::load_weights(const std::string& path, const Manifest& manifest) {
  const auto wrong = misfits(manifest, runner_, Parts::weights, Casts::floats);
  const auto different = differences(manifest.model, c_.model);
  if (!wrong.empty()) {
    base::fail_user(Exit::checkpoint, "{}: does not fit the model:{}{}", path, indented(wrong),
                    indented(different));
  }
  if (!different.empty()) {
    c_.tell.warn(path + ": is of another model, whose weights fit:" + indented(different));
  }
  NamedTensors tensors = read_tensors(path, manifest, Parts::weights);
  for (const StateTensor& t : runner_.saved_state()) {
    if (tensors.contains(t.name)) tensors[t.name] = host::cast(tensors[t.name], t.dtype);
  }
  runner_.restore(tensors, seed_);
  return {};
}

Restored Restorer::initial_load(const std::string& path) {
  const bool weights_only = c_.job.checkpoint.initial_load_model_only;
  if (base::path_kind(path) != base::PathKind::directory) {
    if (!weights_only) {
      base::fail_user(Exit::checkpoint,
                      "{}: is no checkpoint folder: a file holds weights only; leave "
                      "checkpoint.initial_load_model_only on",
                      path);
    }
    runner_.start_from_file(path);
    return {};
  }
  if (!base::file_exists(base::join_path(path, manifest_name))) {
    const std::vector<int64_t> steps = list_checkpoints(path);
    base::fail_user(
        Exit::checkpoint, "{}: is no checkpoint: there is no {} in it{}", path, manifest_name,
        steps.empty() ? "" : "; did you mean " + checkpoint_path(path, steps.back()) + "?");
  }
  const Manifest manifest = read_manifest(path);
  Restored out = weights_only ? load_weights(path, manifest) : load(path, manifest);
  c_.tell.line(base::format("load    {}  {}  (verified)",
                            weights_only ? "weights" : base::format("step {}", manifest.step),
                            path));
  return out;
}

}  // namespace

Restored restore_run(const RestoreContext& context, StepRunner& runner) {
  Restorer restorer(context, runner);
  const config::CheckpointSection& section = context.job.checkpoint;
  if (section.enable) {
    if (const auto resumed = restorer.resume()) {
      if (section.initial_load_path) {
        context.tell.line("note    checkpoint.initial_load_path is not read: the run resumes");
      }
      return *resumed;
    }
  }
  if (section.initial_load_path) return restorer.initial_load(*section.initial_load_path);
  runner.start_from_seed(static_cast<uint64_t>(context.job.debug.seed));
  return {};
}

}  // namespace trainer
