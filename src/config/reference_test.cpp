// Configurations of torchtitan users: its DeepSeek TOML files (reference 4.16), the command of the
// origin report, and every default of reference section 4.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "config/job_config.h"
#include "config/show.h"
#include "tests/support/golden_file.h"

namespace config {
namespace {

const std::string our_debug_model = HEDDLE_SOURCE_DIR "/configs/debug_model.toml";

// The values of torchtitan's debug_model.toml where ours differ, as flags.
const List torchtitan_values = {"--job.description=DeepSeek-V3 debug training",
                                "--model.hf_assets_path=./tests/assets/tokenizer",
                                "--training.local_batch_size=8",
                                "--training.seq_len=2048",
                                "--training.steps=10",
                                "--training.dataset=c4_test",
                                "--compile.no_enable"};

TEST(Reference, OurDebugModelLoadsWithoutWarnings) {
  const Settings settings = read_settings(List{"--job.config_file", our_debug_model});
  EXPECT_TRUE(settings.warnings.empty());
  const JobConfig c = job_config(settings);
  EXPECT_EQ(c.training.dataset, "novels");
  EXPECT_EQ(c.training.seq_len, 256);
  EXPECT_EQ(c.model.args.n_layers, 6);
  EXPECT_TRUE(c.compile.enable);
}

TEST(Reference, OurDebugModelHasTheKeysOfTorchtitans) {
  List flags = {"--job.config_file=" + our_debug_model};
  flags.insert(flags.end(), torchtitan_values.begin(), torchtitan_values.end());
  const Settings settings = read_settings(flags);
  const List keys = {"job.dump_folder",
                     "job.description",
                     "job.print_config",
                     "profiling.enable_profiling",
                     "profiling.save_traces_folder",
                     "profiling.profile_freq",
                     "profiling.enable_memory_snapshot",
                     "profiling.save_memory_snapshot_folder",
                     "metrics.log_freq",
                     "metrics.disable_color_printing",
                     "metrics.enable_tensorboard",
                     "metrics.save_tb_folder",
                     "metrics.enable_wandb",
                     "model.name",
                     "model.flavor",
                     "model.hf_assets_path",
                     "optimizer.name",
                     "optimizer.lr",
                     "optimizer.eps",
                     "lr_scheduler.warmup_steps",
                     "lr_scheduler.decay_ratio",
                     "lr_scheduler.decay_type",
                     "lr_scheduler.min_lr_factor",
                     "training.local_batch_size",
                     "training.seq_len",
                     "training.max_norm",
                     "training.steps",
                     "training.dataset",
                     "parallelism.data_parallel_replicate_degree",
                     "parallelism.data_parallel_shard_degree",
                     "parallelism.fsdp_reshard_after_forward",
                     "parallelism.tensor_parallel_degree",
                     "parallelism.enable_async_tensor_parallel",
                     "parallelism.pipeline_parallel_degree",
                     "parallelism.pipeline_parallel_schedule",
                     "parallelism.context_parallel_degree",
                     "parallelism.expert_parallel_degree",
                     "parallelism.expert_tensor_parallel_degree",
                     "checkpoint.enable",
                     "checkpoint.folder",
                     "checkpoint.interval",
                     "checkpoint.last_save_model_only",
                     "checkpoint.export_dtype",
                     "checkpoint.async_mode",
                     "activation_checkpoint.mode",
                     "activation_checkpoint.selective_ac_option",
                     "compile.enable",
                     "compile.components",
                     "quantize.linear.float8.enable_fsdp_float8_all_gather",
                     "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp",
                     "quantize.linear.float8.filter_fqns",
                     "quantize.grouped_mm.float8.fqns"};
  size_t given = 0;
  for (const Key& key : all_keys()) given += settings.given(key.name) ? 1 : 0;
  for (const std::string& key : keys) EXPECT_TRUE(settings.given(key)) << key;
  EXPECT_EQ(given, keys.size() + 1);  // and job.config_file
  const JobConfig c = job_config(settings);
  EXPECT_EQ(c.training.local_batch_size * c.training.seq_len, 16384);
  EXPECT_FALSE(c.compile.enable);
}

// The 16B and 671B files of torchtitan, by their values: what needs ranks is refused, the rest
// passes.
TEST(Reference, LargeFilesLoadOnOneRank) {
  const std::string toml =
      "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n"
      "hf_assets_path = \"./assets/hf/DeepSeek-V3.1-Base\"\n"
      "# converters = [\"float8\"]\n"
      "[optimizer]\nname = \"AdamW\"\nlr = 2.2e-4\neps = 1e-8\n"
      "[lr_scheduler]\nwarmup_steps = 2_000\ndecay_ratio = 0.8\ndecay_type = \"cosine\"\n"
      "min_lr_factor = 0.1\n"
      "[training]\nlocal_batch_size = 4\nseq_len = 4096\nmax_norm = 1.0\nsteps = 10_000\n"
      "dataset = \"c4\"\n[parallelism]\nexpert_parallel_degree = 1\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
      "[compile]\nenable = true\ncomponents = [\"loss\"]\n";
  const JobConfig c =
      job_config(read_settings_text(toml, "671b.toml", List{"--training.dataset_path=./c4"}));
  EXPECT_EQ(c.model.args.dim, 7168);
  EXPECT_EQ(c.model.args.max_seq_len, 4096);
  EXPECT_EQ(c.lr_scheduler.warmup_steps, 2000);
  EXPECT_EQ(c.training.steps, 10000);
}

TEST(Reference, TheCommandOfTheOriginReport) {
  const Settings settings = read_settings(
      List{"--model.name", "simple_fsdp.deepseek_v3", "--job.config_file=" + our_debug_model,
           "--job.custom_config_module=torchtitan.experiments.simple_fsdp.job_config",
           "--compile.enable", "--parallelism.data_parallel_shard_degree", "1",
           "--parallelism.tensor_parallel_degree", "1", "--parallelism.expert_parallel_degree", "1",
           "--training.mixed_precision_param=float32", "--training.local_batch_size", "1",
           "--training.seq_len", "256", "--activation_checkpoint.mode", "none"});
  const JobConfig c = job_config(settings);
  EXPECT_EQ(c.model.name, "simple_fsdp.deepseek_v3");
  EXPECT_EQ(c.training.local_batch_size, 1);
  EXPECT_EQ(c.training.seq_len, 256);
  EXPECT_EQ(c.activation_checkpoint.mode, "none");
  EXPECT_EQ(c.training.mixed_precision_param, "float32");
  EXPECT_TRUE(c.compile.enable);
  EXPECT_EQ(c.optimizer.lr, 8e-4);
  EXPECT_EQ(c.model.args.max_seq_len, 256);
  EXPECT_EQ(count_parameters(c.model.args).total, 33014016);
  EXPECT_TRUE(settings.warnings.empty());
}

// The whole resolved table with nothing given: a changed default shows up as a changed line.
TEST(Reference, Defaults) {
  golden::expect_golden("src/config/defaults.golden", to_toml(read_settings({}), Origins::shown));
}

}  // namespace
}  // namespace config
