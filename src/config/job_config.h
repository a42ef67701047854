// The resolved configuration as plain structs, section by section: what the rest of Heddle reads.
// Holds the keys that Heddle acts on; the full table with origins is in `settings.h`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model_args.h"

namespace config {

struct Settings;

struct JobSection {
  std::optional<std::string> config_file;
  std::string dump_folder;
  std::string description;
  bool print_config;
  std::optional<std::string> save_config_file;  // relative to dump_folder
};

struct MetricsSection {
  int64_t log_freq;
  bool disable_color_printing;
};

struct ModelSection {
  std::string name;    // "deepseek_v3" or "simple_fsdp.deepseek_v3"
  std::string flavor;  // as named; `args` is the flavor with the overrides applied
  std::string hf_assets_path;
  ModelArgs args;
};

struct OptimizerSection {
  std::string name;  // "AdamW" or "Adam"
  double lr, beta1, beta2, eps, weight_decay;
};

struct LrSchedulerSection {
  int64_t warmup_steps;
  std::optional<double> decay_ratio;
  std::string decay_type;  // "linear", "sqrt", "cosine"
  double min_lr_factor;
};

struct TrainingSection {
  std::string dataset;  // lower case
  std::optional<std::string> dataset_path;
  int64_t local_batch_size;
  int64_t
      global_batch_size;  // resolved: local_batch_size times the data-parallel degree when unset
  int64_t accumulation_steps;  // global_batch_size / (local_batch_size * data-parallel degree)
  int64_t seq_len;
  double max_norm;  // may be infinite: no clipping
  int64_t steps;
  std::string dtype;                  // "float32" or "float64"
  std::string mixed_precision_param;  // "float32"; without meaning when dtype is "float64"
  bool mask_document_labels;
};

struct CheckpointSection {
  bool enable;
  std::string folder;                            // in the dump folder
  int64_t interval;                              // steps
  int64_t keep_latest_k;                         // 0: all
  int64_t load_step;                             // -1: the newest
  std::string async_mode;                        // "disabled", "async", "async_with_pinned_mem"
  std::optional<std::string> initial_load_path;  // a checkpoint, or one .safetensors file
  bool initial_load_model_only;
  std::vector<std::string> exclude_from_loading;
  bool enable_first_step_checkpoint;
  bool last_save_model_only;
  std::string export_dtype;  // "float16", "bfloat16", "float32"
  bool create_seed_checkpoint;
  bool load_only;
};

struct ActivationCheckpointSection {
  std::string mode;  // "none", "full", "selective", "memory_budget"
  std::string selective_ac_option;
  double memory_budget;
};

struct CompileSection {
  bool enable;                      // true unless the user said no: then the interpreter
  std::optional<std::string> dump;  // a stage, a pass, or "all"
  std::optional<std::string> stop_after;
  std::vector<std::string> disable_passes;
  int64_t rewrite_limit;  // -1: none
  std::string verify;     // "off", "change", "all"
  std::optional<std::string> cache;
};

struct DebugSection {
  int64_t seed;  // 0 when unset
  std::optional<int64_t> dump_step;
  std::string nan;                 // "stop"
  std::optional<int64_t> threads;  // all usable cores when unset
};

struct JobConfig {
  JobSection job;
  MetricsSection metrics;
  ModelSection model;
  OptimizerSection optimizer;
  LrSchedulerSection lr_scheduler;
  TrainingSection training;
  CheckpointSection checkpoint;
  ActivationCheckpointSection activation_checkpoint;
  CompileSection compile;
  DebugSection debug;
};

// Settings that `read_settings` accepted always convert.
JobConfig job_config(const Settings& settings);

}  // namespace config
