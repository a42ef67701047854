// The resolved table to plain structs.
#include "config/job_config.h"

#include <algorithm>

#include "base/error.h"
#include "config/problems.h"
#include "config/settings.h"

namespace config {
namespace {

// Every key that lands in a field of JobConfig, but model.args.* (model_settings.cpp).
template <class Visit>
void visit_run(JobConfig& c, Visit&& visit) {
  visit("job.config_file", c.job.config_file);
  visit("job.dump_folder", c.job.dump_folder);
  visit("job.description", c.job.description);
  visit("job.print_config", c.job.print_config);
  visit("job.save_config_file", c.job.save_config_file);
  visit("metrics.log_freq", c.metrics.log_freq);
  visit("metrics.disable_color_printing", c.metrics.disable_color_printing);
  visit("model.name", c.model.name);
  visit("model.flavor", c.model.flavor);
  visit("model.hf_assets_path", c.model.hf_assets_path);
  visit("debug.seed", c.debug.seed);
  visit("debug.dump_step", c.debug.dump_step);
  visit("debug.nan", c.debug.nan);
  visit("debug.threads", c.debug.threads);
}

template <class Visit>
void visit_training(JobConfig& c, Visit&& visit) {
  visit("optimizer.name", c.optimizer.name);
  visit("optimizer.lr", c.optimizer.lr);
  visit("optimizer.beta1", c.optimizer.beta1);
  visit("optimizer.beta2", c.optimizer.beta2);
  visit("optimizer.eps", c.optimizer.eps);
  visit("optimizer.weight_decay", c.optimizer.weight_decay);
  visit("lr_scheduler.warmup_steps", c.lr_scheduler.warmup_steps);
  visit("lr_scheduler.decay_ratio", c.lr_scheduler.decay_ratio);
  visit("lr_scheduler.decay_type", c.lr_scheduler.decay_type);
  visit("lr_scheduler.min_lr_factor", c.lr_scheduler.min_lr_factor);
  visit("training.dataset", c.training.dataset);
  visit("training.dataset_path", c.training.dataset_path);
  visit("training.local_batch_size", c.training.local_batch_size);
  visit("training.global_batch_size", c.training.global_batch_size);
  visit("training.seq_len", c.training.seq_len);
  visit("training.max_norm", c.training.max_norm);
  visit("training.steps", c.training.steps);
  visit("training.dtype", c.training.dtype);
  visit("training.mixed_precision_param", c.training.mixed_precision_param);
  visit("training.mask_document_labels", c.training.mask_document_labels);
}

template <class Visit>
void visit_checkpoint(CheckpointSection& c, Visit&& visit) {
  visit("checkpoint.enable", c.enable);
  visit("checkpoint.folder", c.folder);
  visit("checkpoint.interval", c.interval);
  visit("checkpoint.keep_latest_k", c.keep_latest_k);
  visit("checkpoint.load_step", c.load_step);
  visit("checkpoint.async_mode", c.async_mode);
  visit("checkpoint.initial_load_path", c.initial_load_path);
  visit("checkpoint.initial_load_model_only", c.initial_load_model_only);
  visit("checkpoint.exclude_from_loading", c.exclude_from_loading);
  visit("checkpoint.enable_first_step_checkpoint", c.enable_first_step_checkpoint);
  visit("checkpoint.last_save_model_only", c.last_save_model_only);
  visit("checkpoint.export_dtype", c.export_dtype);
  visit("checkpoint.create_seed_checkpoint", c.create_seed_checkpoint);
  visit("checkpoint.load_only", c.load_only);
}

template <class Visit>
void visit_compiler(JobConfig& c, Visit&& visit) {
  visit("activation_checkpoint.mode", c.activation_checkpoint.mode);
  visit("activation_checkpoint.selective_ac_option", c.activation_checkpoint.selective_ac_option);
  visit("activation_checkpoint.memory_budget", c.activation_checkpoint.memory_budget);
  visit("compile.enable", c.compile.enable);
  visit("compile.dump", c.compile.dump);
  visit("compile.stop_after", c.compile.stop_after);
  visit("compile.disable_passes", c.compile.disable_passes);
  visit("compile.rewrite_limit", c.compile.rewrite_limit);
  visit("compile.verify", c.compile.verify);
  visit("compile.cache", c.compile.cache);
}

template <class Visit>
void visit_all(JobConfig& config, Visit&& visit) {
  visit_run(config, visit);
  visit_training(config, visit);
  visit_checkpoint(config.checkpoint, visit);
  visit_compiler(config, visit);
}

// A key that may be unset goes to an optional, or keeps what the field was given before.
template <class T>
void read(const Value& value, T& field) {
  if (const T* typed = std::get_if<T>(&value)) {
    field = *typed;
  } else {
    CHECK(std::holds_alternative<std::monostate>(value));
  }
}
template <class T>
void read(const Value& value, std::optional<T>& field) {
  if (std::holds_alternative<std::monostate>(value)) return;
  field.emplace();
  read(value, *field);
}

void resolve_batch(TrainingSection& training) {
  if (training.global_batch_size < 0) training.global_batch_size = training.local_batch_size;
  training.accumulation_steps = training.global_batch_size / training.local_batch_size;
}

}  // namespace

List keys_in_job_config() {
  JobConfig config;
  List names;
  visit_all(config, [&](std::string_view name, auto&) { names.emplace_back(name); });
  return names;
}

JobConfig job_config(const Settings& settings) {
  JobConfig config;
  config.compile.enable = true;
  config.debug.seed = 0;
  visit_all(config,
            [&](std::string_view name, auto& field) { read(settings.at(name).value, field); });
  config.model.args = model_args(settings);
  std::ranges::transform(config.training.dataset, config.training.dataset.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  resolve_batch(config.training);
  return config;
}

}  // namespace config
