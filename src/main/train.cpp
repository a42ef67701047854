// heddle train: from flags to the step loop.
#include <cstdio>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "config/job_config.h"
#include "config/settings.h"
#include "config/show.h"
#include "host/measure.h"
#include "main/commands.h"
#include "text/loader.h"
#include "trainer/run.h"

namespace program {
namespace {

std::unique_ptr<text::Loader> open_data(const config::JobConfig& job) {
  text::LoaderOptions options;
  options.dataset = job.training.dataset;
  options.dataset_path = job.training.dataset_path;
  options.tokenizer_path = job.model.hf_assets_path;
  const std::string cache = base::user_cache_folder();
  if (!cache.empty()) options.cache_folder = base::join_path(cache, "tokens");
  options.seq_len = job.training.seq_len;
  options.local_batch_size = job.training.local_batch_size;
  options.micro_batches = job.training.accumulation_steps;
  options.steps = job.training.steps;
  options.vocab_size = job.model.args.vocab_size;
  options.seed = static_cast<uint64_t>(job.debug.seed);
  options.mask_document_labels = job.training.mask_document_labels;
  return text::open_loader(options);
}

trainer::BatchSource source_of(const text::Loader& loader, int64_t micro_batches) {
  trainer::BatchSource source;
  source.batches = [&loader, micro_batches](int64_t step) {
    std::vector<trainer::MicroBatch> out;
    for (int64_t micro = 0; micro < micro_batches; ++micro) {
      text::Batch batch = loader.batch(step, micro);
      out.push_back({batch.tokens, batch.labels, batch.documents});
    }
    return out;
  };
  source.description = loader.facts().description;
  if (loader.facts().unigram_entropy > 0) source.unigram_entropy = loader.facts().unigram_entropy;
  return source;
}

// The command as typed, each word quoted where a shell needs it.
std::string command_line(Arguments arguments) {
  std::string out = "heddle train";
  for (const std::string& word : arguments) {
    if (word.find_first_of(" \t\n\"'\\$&|;<>()*?[]#~`!{}") == std::string::npos && !word.empty()) {
      out += " " + word;
      continue;
    }
    out += " '";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += "'";
  }
  return out;
}

// job.save_config_file is relative to the dump folder.
void save_config(const config::JobConfig& job, const config::Settings& settings) {
  if (!job.job.save_config_file) return;
  const std::string path = base::join_path(job.job.dump_folder, *job.job.save_config_file);
  base::make_directories(base::parent_path(path), base::Exit::config);
  base::write_file(path, config::to_json(settings) + "\n", base::Exit::config);
}

}  // namespace

int run_train(Arguments arguments) {
  const config::Settings settings = config::read_settings(arguments);
  const config::JobConfig job = config::job_config(settings);
  for (const std::string& warning : settings.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  if (job.job.print_config) print(config::to_json(settings) + "\n");
  save_config(job, settings);
  const auto loader = open_data(job);
  for (const std::string& warning : loader->facts().warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  trainer::RunSetup setup;
  setup.source = source_of(*loader, job.training.accumulation_steps);
  setup.threads = static_cast<int>(job.debug.threads.value_or(base::usable_cores()));
  setup.resolved_config = config::to_toml(settings, config::Origins::shown);
  setup.settings_json = config::to_json(settings);
  setup.command_line = command_line(arguments);
  setup.peak_flops = host::measured_peak_gflops() * 1e9;
  setup.memory_limit = host::memory_limit_bytes();
  return trainer::run_training(job, setup);
}

}  // namespace program
