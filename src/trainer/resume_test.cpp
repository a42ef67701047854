// Whole runs of a tiny model: stopped and resumed they give the bits of the unbroken run; every key
// of [checkpoint] does what it says.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "config/settings.h"
#include "config/show.h"
#include "tests/support/scratch_folder.h"
#include "trainer/checkpoint.h"
#include "trainer/checkpointer.h"
#include "trainer/run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Flags = std::vector<std::string>;

constexpr const char* tiny = R"(
[model]
flavor = "debugmodel"
[model.args]
dim = 16
inter_dim = 24
moe_inter_dim = 16
n_layers = 2
n_heads = 2
kv_lora_rank = 8
qk_nope_head_dim = 4
qk_rope_head_dim = 4
v_head_dim = 4
vocab_size = 64
[model.args.moe_args]
num_experts = 4
top_k = 2
[optimizer]
lr = 1e-2
[lr_scheduler]
warmup_steps = 2
decay_ratio = 0.5
[training]
dataset = "synthetic"
seq_len = 8
local_batch_size = 2
steps = 6
[metrics]
disable_color_printing = true
[checkpoint]
enable = true
interval = 2
last_save_model_only = false
)";

// Batches as a function of the step.
std::vector<MicroBatch> batches_of(int64_t step, int64_t micro_batches) {
  std::vector<MicroBatch> out;
  for (int64_t micro = 0; micro < micro_batches; ++micro) {
    MicroBatch m;
    for (host::Tensor* t : {&m.tokens, &m.labels, &m.documents}) {
      *t = host::Tensor::zeros(host::DType::i64, {2, 8});
    }
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t token = (step * 37 + micro * 11 + i * (step + 3)) % 64;
      m.tokens.data<int64_t>()[i] = token;
      m.labels.data<int64_t>()[i] = (token * 5 + 1) % 64;
    }
    out.push_back(m);
  }
  return out;
}

struct Outcome {
  int code = 0;
  std::string out;
};

class Resume : public testing::Test {
 protected:
  std::string folder(const std::string& run) const { return root_.path() + "/" + run; }
  std::string checkpoint(const std::string& run, int64_t step) const {
    return checkpoint_path(folder(run) + "/checkpoint", step);
  }

  // Runs, and raises a signal while step `stop_at` runs (0: never).
  Outcome train(const std::string& run, Flags flags, int64_t stop_at = 0) const {
    flags.push_back("--job.dump_folder=" + folder(run));
    const config::Settings settings = config::read_settings_text(tiny, "tiny.toml", flags);
    const config::JobConfig job = config::job_config(settings);
    RunSetup setup;
    setup.source.batches = [&](int64_t step) {
      if (step == stop_at) std::raise(SIGTERM);
      return batches_of(step, job.training.accumulation_steps);
    };
    setup.settings_json = config::to_json(settings);
    testing::internal::CaptureStdout();
    Outcome outcome;
    try {
      outcome.code = run_training(job, setup);
    } catch (const base::Error& e) {
      outcome = {static_cast<int>(e.exit()), e.message()};
    }
    outcome.out = testing::internal::GetCapturedStdout() + outcome.out;
    return outcome;
  }

  // metrics.jsonl without what time and memory were.
  std::string metrics(const std::string& run) const {
    std::string out;
    for (const std::string& line :
         base::split(base::read_file(folder(run) + "/metrics.jsonl", base::Exit::config), '\n')) {
      out += line.substr(0, line.find(", \"step_s\"")) + "\n";
    }
    return out;
  }

  NamedTensors state(const std::string& run, int64_t step) const {
    const std::string path = checkpoint(run, step);
    return read_tensors(path, read_manifest(path), Parts::all);
  }

  void expect_same_state(const std::string& a, const std::string& b, int64_t step) const {
    const NamedTensors left = state(a, step), right = state(b, step);
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [name, tensor] : left) {
      EXPECT_TRUE(host::same_bits(tensor, right.at(name))) << name;
    }
  }

  void flip_byte(const std::string& run, int64_t step, const std::string& file) const {
    const std::string path = checkpoint(run, step) + "/" + file;
    std::string bytes = base::read_file(path, base::Exit::checkpoint);
    bytes[bytes.size() - 9] ^= 4;
    base::write_file(path, bytes, base::Exit::checkpoint);
  }

  scratch::Folder root_{"resume"};
};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const std::string model_file = "model-00001-of-00001.safetensors";
const std::string moments_file = "optimizer-00001-of-00001.safetensors";

TEST_F(Resume, StoppedAnywhereGivesTheBitsOfTheUnbrokenRun) {
  const std::vector<Flags> variants = {
      {},
      {"--checkpoint.async_mode=async"},
      {"--training.global_batch_size=4", "--model.args.moe_args.use_grouped_mm"},
      {"--training.dtype=float64", "--optimizer.name=Adam"}};
  for (size_t v = 0; v < variants.size(); ++v) {
    SCOPED_TRACE(v);
    const std::string whole = "whole" + std::to_string(v);
    ASSERT_EQ(train(whole, variants[v]).code, 0);
    for (int64_t stop = 1; stop <= 5; stop += v == 0 ? 1 : 2) {
      SCOPED_TRACE(stop);
      const std::string broken = base::format("broken{}_{}", v, stop);
      const Outcome stopped = train(broken, variants[v], stop);
      ASSERT_EQ(stopped.code, 75) << stopped.out;
      const Outcome resumed = train(broken, variants[v]);
      ASSERT_EQ(resumed.code, 0) << resumed.out;
      EXPECT_TRUE(contains(resumed.out, base::format("resume  step {} ", stop))) << resumed.out;
      EXPECT_FALSE(contains(resumed.out, "warn")) << resumed.out;
      EXPECT_EQ(metrics(broken), metrics(whole));
      expect_same_state(whole, broken, 6);
    }
  }
}

// As after kill -9: the newest checkpoint is older than the last line, which is cut off.
TEST_F(Resume, RepeatsTheStepsPastTheCheckpoint) {
  ASSERT_EQ(train("whole", {}).code, 0);
  ASSERT_EQ(train("killed", {}, 5).code, 75);
  fs::remove_all(checkpoint("killed", 5));
  std::FILE* file = std::fopen((folder("killed") + "/metrics.jsonl").c_str(), "a");
  std::fputs("{\"step\": 6, \"loss\": 1.", file);
  std::fclose(file);
  EXPECT_TRUE(contains(train("killed", {}).out, "resume  step 4 "));
  EXPECT_EQ(metrics("killed"), metrics("whole"));
  expect_same_state("whole", "killed", 6);
  // A finished run has nothing left to do, and keeps what it has.
  const Outcome again = train("killed", {});
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(contains(again.out, "done    step 6 of 6")) << again.out;
  EXPECT_EQ(metrics("killed"), metrics("whole"));
}

TEST_F(Resume, DamageFallsBackLoudly) {
  ASSERT_EQ(train("whole", {}).code, 0);
  ASSERT_EQ(train("bad", {}, 5).code, 75);
  flip_byte("bad", 5, moments_file);
  const Outcome resumed = train("bad", {});
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(contains(resumed.out, checkpoint("bad", 5) + "/" + moments_file + ": tensor exp_avg"))
      << resumed.out;
  EXPECT_TRUE(contains(resumed.out, "step 5 is passed over: trying step 4")) << resumed.out;
  EXPECT_TRUE(contains(resumed.out, "checkpoint step 5 is not of this run: kept as"));
  EXPECT_TRUE(fs::exists(checkpoint("bad", 5) + ".aside"));
  EXPECT_EQ(metrics("bad"), metrics("whole"));
  expect_same_state("whole", "bad", 6);
}

TEST_F(Resume, NothingSoundIsAnErrorAndNoFreshStart) {
  ASSERT_EQ(train("bad", {}, 2).code, 75);
  flip_byte("bad", 2, model_file);
  const Outcome outcome = train("bad", {});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(contains(outcome.out, "no checkpoint in ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, model_file + ": tensor ")) << outcome.out;
  EXPECT_EQ(base::split(metrics("bad"), '\n').size(), 4u);  // two lines are still there
}

TEST_F(Resume, AnotherModelSaysWhichFieldsDiffer) {
  ASSERT_EQ(train("run", {}, 3).code, 75);
  const Outcome outcome =
      train("run", {"--model.args.dim=32", "--model.args.moe_args.score_func=sigmoid"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(contains(outcome.out, "dim: 16 in the checkpoint, 32 here")) << outcome.out;
  EXPECT_TRUE(
      contains(outcome.out, "moe_args.score_func: \"softmax\" in the checkpoint, \"sigmoid\" here"))
      << outcome.out;
  EXPECT_EQ(train("run", {"--training.dtype=float64"}).code, 4);
}

TEST_F(Resume, OtherSettingsAreToldAndANewerFormatIsRefused) {
  ASSERT_EQ(train("run", {}, 3).code, 75);
  const Outcome longer = train("run", {"--training.steps=7", "--optimizer.lr=2e-2"});
  EXPECT_EQ(longer.code, 0);
  EXPECT_TRUE(contains(longer.out, "training.steps: 6 in the checkpoint, 7 here")) << longer.out;
  EXPECT_TRUE(contains(longer.out, "optimizer.lr: 0.01 in the checkpoint, 0.02 here"));
  const std::string path = checkpoint("run", 7) + "/manifest.json";
  std::string text = base::read_file(path, base::Exit::checkpoint);
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 9");
  base::write_file(path, seal_manifest(text.substr(0, text.rfind("\"hash\": "))),
                   base::Exit::checkpoint);
  const Outcome newer = train("run", {"--training.steps=7"});
  EXPECT_EQ(newer.code, 4);
  EXPECT_TRUE(contains(newer.out, "written by a newer heddle: format 9 found")) << newer.out;
}

TEST_F(Resume, IntervalsFirstStepAndHowManyAreKept) {
  const auto steps = [&](const std::string& run) {
    return list_checkpoints(folder(run) + "/checkpoint");
  };
  train("first", {"--checkpoint.enable_first_step_checkpoint"});
  EXPECT_EQ(steps("first"), (std::vector<int64_t>{1, 2, 4, 6}));
  train("kept", {"--checkpoint.interval=1", "--checkpoint.keep_latest_k=2",
                 "--checkpoint.async_mode=async_with_pinned_mem"});
  EXPECT_EQ(steps("kept"), (std::vector<int64_t>{4, 5, 6}));  // the last save removes nothing
  train("elsewhere", {"--checkpoint.folder=saved/here"});
  EXPECT_EQ(list_checkpoints(folder("elsewhere") + "/saved/here"), (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(train("none", {"--checkpoint.load_only"}, 3).code, 128 + SIGTERM);
  EXPECT_TRUE(steps("none").empty());
  EXPECT_EQ(train("off", {"--checkpoint.no_enable"}, 3).code, 128 + SIGTERM);
}

TEST_F(Resume, LoadStepGoesBackAndKeepsTheOtherBranch) {
  ASSERT_EQ(train("run", {}).code, 0);
  const std::string whole = metrics("run");
  const Outcome missing = train("run", {"--checkpoint.load_step=3"});
  EXPECT_EQ(missing.code, 4);
  EXPECT_TRUE(contains(missing.out, "has steps 2, 4, 6")) << missing.out;
  ASSERT_EQ(train("run", {"--checkpoint.load_step=2"}, 3).code, 75);
  EXPECT_EQ(list_checkpoints(folder("run") + "/checkpoint"), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(fs::exists(checkpoint("run", 6) + ".aside"));
  ASSERT_EQ(train("run", {}).code, 0);
  EXPECT_EQ(metrics("run"), whole);
}

TEST_F(Resume, TheLastSaveMayHoldWeightsOnly) {
  const Flags flags = {"--checkpoint.last_save_model_only", "--checkpoint.export_dtype=bfloat16"};
  ASSERT_EQ(train("run", flags).code, 0);
  const NamedTensors saved = state("run", 6);
  EXPECT_FALSE(saved.contains("exp_avg.norm.weight"));
  EXPECT_EQ(saved.at("norm.weight").dtype(), host::DType::bf16);
  EXPECT_FALSE(fs::exists(checkpoint("run", 6) + "/" + moments_file));
  EXPECT_EQ(train("run", flags).code, 0);  // the run is complete
  const Outcome longer = train("run", {"--training.steps=8"});
  EXPECT_EQ(longer.code, 0) << longer.out;
  EXPECT_TRUE(contains(longer.out, "holds weights only")) << longer.out;
  EXPECT_TRUE(contains(longer.out, "resume  step 4 "));
  const Outcome excluded = train("run", {"--checkpoint.load_step=8", "--training.steps=9",
                                         "--checkpoint.exclude_from_loading=optimizer,dataloader"});
  EXPECT_EQ(excluded.code, 0) << excluded.out;
  const Progress progress = read_manifest(checkpoint("run", 9)).progress;
  EXPECT_EQ(progress, (Progress{.train = 9, .optimizer = 1, .schedule = 9, .data = 1}));
}

TEST_F(Resume, ExcludedTrainStateStartsOverWithTheRest) {
  ASSERT_EQ(train("run", {}, 3).code, 75);
  ASSERT_EQ(train("run", {"--checkpoint.exclude_from_loading=train_state,model",
                          "--checkpoint.load_step=3"})
                .code,
            0);
  const Manifest manifest = read_manifest(checkpoint("run", 6));
  EXPECT_EQ(manifest.progress, (Progress{.train = 6, .optimizer = 9, .schedule = 9, .data = 9}));
  EXPECT_EQ(manifest.tokens_seen, 6 * 16);
}

TEST_F(Resume, InitialLoads) {
  ASSERT_EQ(train("first", {}, 4).code, 75);
  const std::string from = checkpoint("first", 4);
  const Flags weights = {"--checkpoint.initial_load_path=" + from};
  ASSERT_EQ(train("second", weights, 1).code, 75);
  // A file with the same weights gives the same first step.
  ASSERT_EQ(train("third", {"--checkpoint.initial_load_path=" + from + "/" + model_file}, 1).code,
            75);
  EXPECT_EQ(metrics("second"), metrics("third"));
  EXPECT_TRUE(contains(train("second", weights, 2).out, "initial_load_path is not read"));
  // Everything: the run goes on as the first one does.
  Flags all = weights;
  all.push_back("--checkpoint.no_initial_load_model_only");
  ASSERT_EQ(train("fourth", all).code, 0);
  ASSERT_EQ(train("first", {}).code, 0);
  expect_same_state("first", "fourth", 6);
  // Without checkpoints of its own.
  Flags off = all;
  off.push_back("--checkpoint.no_enable");
  EXPECT_TRUE(contains(train("fifth", off).out, "load    step 4")) << "all";
}

TEST_F(Resume, BadInitialLoads) {
  ASSERT_EQ(train("first", {}, 4).code, 75);
  const auto message = [&](const std::string& path, Flags flags) {
    flags.push_back("--checkpoint.initial_load_path=" + path);
    const Outcome outcome = train("other", flags);
    EXPECT_EQ(outcome.code, 4) << outcome.out;
    return outcome.out;
  };
  const std::string from = checkpoint("first", 4);
  EXPECT_TRUE(contains(message(folder("first") + "/checkpoint", {}), "did you mean " + from));
  const std::string misfit = message(from, {"--model.args.inter_dim=40"});
  EXPECT_TRUE(contains(misfit, "layers.0.feed_forward.w1.weight: f32 [40, 16] expected"));
  EXPECT_TRUE(contains(misfit, "inter_dim: 24 in the checkpoint, 40 here"));
  EXPECT_TRUE(
      contains(message(from + "/" + model_file, {"--checkpoint.no_initial_load_model_only"}),
               "is no checkpoint folder"));
  flip_byte("first", 4, model_file);
  EXPECT_TRUE(contains(message(from, {}), "the file is damaged"));
}

TEST_F(Resume, OneRunAtATimeSavesIntoAFolder) {
  ASSERT_EQ(train("run", {}, 2).code, 75);
  const base::FileLock other(folder("run") + "/checkpoint/.lock", "", base::Exit::checkpoint);
  const Outcome refused = train("run", {});
  EXPECT_EQ(refused.code, 4);
  EXPECT_TRUE(contains(refused.out, "another run saves into this folder")) << refused.out;
  EXPECT_EQ(train("run", {"--checkpoint.load_only"}).code, 0);
}

TEST_F(Resume, SeedCheckpoint) {
  const Outcome seed = train("run", {"--checkpoint.create_seed_checkpoint"});
  ASSERT_EQ(seed.code, 0) << seed.out;
  EXPECT_EQ(read_manifest(checkpoint("run", 0)).contents, Contents::model);
  EXPECT_EQ(train("run", {"--checkpoint.create_seed_checkpoint"}).code, 4);
  ASSERT_EQ(train("run", {"--debug.seed=5"}).code, 0);  // its weights are those of seed 0
  ASSERT_EQ(train("whole", {}).code, 0);
  EXPECT_EQ(metrics("run"), metrics("whole"));
}

// Every second call for room finds none.
class FullDisk : public base::Disk {
 public:
  FullDisk() : Disk(base::Exit::checkpoint) {}
  uint64_t free_bytes(const std::string& path) override {
    return ++calls_ % 2 == 1 ? 100 : Disk::free_bytes(path);
  }

 private:
  int calls_ = 0;
};

TEST_F(Resume, AFullDiskDoesNotEndTheRun) {
  for (const char* mode : {"disabled", "async"}) {
    SCOPED_TRACE(mode);
    const config::JobConfig job = config::job_config(
        config::read_settings_text(tiny, "tiny.toml",
                                   Flags{"--job.dump_folder=" + folder(mode),
                                         base::format("--checkpoint.async_mode={}", mode)}));
    const base::WorkerPool pool(1);
    StepRunner runner(job, pool);
    FullDisk disk;
    std::string told;
    const auto tell = [&](const std::string& text) { told += text + "\n"; };
    Checkpointer checkpoints(job, "", disk, {.line = tell, .warn = tell});
    Progress done = checkpoints.start(runner);
    for (const int64_t step : {2, 4}) {
      done = {step, step, step, step};
      checkpoints.after_step(done, runner);
      checkpoints.finish();
    }
    EXPECT_TRUE(contains(told, "step 2 was not saved")) << told;
    EXPECT_TRUE(contains(told, "are missing")) << told;
    EXPECT_TRUE(contains(told, "the run goes on")) << told;
    EXPECT_EQ(list_checkpoints(folder(mode) + "/checkpoint"), (std::vector<int64_t>{4}));
    EXPECT_FALSE(checkpoints.save_now({5, 5, 5, 5}, runner));
    EXPECT_TRUE(contains(told, "the newest checkpoint is step 4")) << told;
    checkpoints.after_step({5, 5, 5, 5}, runner);
    ASSERT_TRUE(checkpoints.save_now({5, 5, 5, 5}, runner));
    EXPECT_THROW(checkpoints.after_step({6, 6, 6, 6}, runner), base::SystemError);
  }
}

// What a save in the background rests on: steps replace tensors, they do not write into them.
TEST_F(Resume, HandlesKeepTheStateOfTheirMoment) {
  for (const char* accumulation : {"2", "4"}) {
    const config::JobConfig job = config::job_config(config::read_settings_text(
        tiny, "tiny.toml", Flags{base::format("--training.global_batch_size={}", accumulation)}));
    const base::WorkerPool pool(2);
    StepRunner runner(job, pool);
    runner.start_from_seed(1);
    for (int64_t step = 1; step <= 3; ++step) {
      NamedTensors held = runner.weights(), copies;
      held.merge(runner.moments());
      for (const auto& [name, tensor] : held) copies[name] = tensor.clone();
      runner.step(step, batches_of(step, job.training.accumulation_steps), 1e-2);
      for (const auto& [name, tensor] : held) {
        EXPECT_TRUE(host::same_bits(tensor, copies[name])) << name << " after step " << step;
      }
      const NamedTensors now = runner.weights();
      EXPECT_FALSE(host::same_bits(now.at("output.weight"), copies["output.weight"]));
    }
  }
}

}  // namespace
}  // namespace trainer
