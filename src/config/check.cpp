// Rules over several keys, and what is asked for but not built. A rule that reads a key whose
// value was refused stays silent: that key has its own error.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "config/problems.h"

namespace config {
namespace {

class Checker {
 public:
  Checker(Draft& draft, const Settings& settings) : draft_(draft), settings_(settings) {}

  void missing_features();
  void model_name();
  void modules_and_folders();
  void degrees();
  void batch();
  void dataset();
  void recompute();
  void compiler_switches();
  void steps();

 private:
  bool sound(std::initializer_list<std::string_view> keys) const {
    return std::ranges::none_of(
        keys, [&](std::string_view key) { return draft_.broken[key_index(key)]; });
  }
  void fail(std::string_view key, std::string message, std::string hint = "") {
    draft_.problems.push_back({std::move(message), settings_.at(key).origin, std::move(hint)});
  }
  void expert_degree(int64_t degree);

  Draft& draft_;
  const Settings& settings_;
};

void Checker::missing_features() {
  for (const Key& key : all_keys()) {
    if (key.missing_if.how == Condition::How::never || !sound({key.name})) continue;
    if (!why_inert(key, settings_).empty()) continue;
    if (!holds(key.missing_if, key.name, settings_)) continue;
    fail(key.name,
         base::format("{} is {}: Heddle does not have {}", key.name,
                      clip(to_toml(settings_.at(key.name).value)), key.missing),
         base::format("leave it at {}", to_toml(key.fallback)));
  }
}

void Checker::model_name() {
  if (!sound({"model.name"})) return;
  const List known = {"deepseek_v3", "simple_fsdp.deepseek_v3"};
  const std::string& name = settings_.text("model.name");
  if (std::ranges::find(known, name) != known.end()) return;
  fail("model.name",
       base::format("model.name is {}: Heddle has {} so far", show(name),
                    base::join(known, " and ")),
       did_you_mean(base::nearest(name, known)));
}

void Checker::modules_and_folders() {
  if (sound({"job.custom_config_module"})) {
    const std::string& module = settings_.text("job.custom_config_module");
    const std::string known[] = {"torchtitan.experiments.simple_fsdp.job_config",
                                 "torchtitan.experiments.compiler_toolkit.job_config"};
    if (!module.empty() && module != known[0] && module != known[1]) {
      fail("job.custom_config_module",
           base::format("job.custom_config_module is {}: Heddle imports no Python; the keys of {} "
                        "and {} are built in",
                        show(module), known[0], known[1]),
           did_you_mean(base::nearest(module, known)));
    }
  }
  if (sound({"job.dump_folder"}) && settings_.text("job.dump_folder").empty()) {
    fail("job.dump_folder", "job.dump_folder is empty: expected a folder", "use \"./outputs\"");
  }
  if (sound({"model.hf_assets_path"}) &&
      settings_.text("model.hf_assets_path").ends_with("tokenizer.model")) {
    fail("model.hf_assets_path",
         "model.hf_assets_path names a tokenizer.model: expected a folder with tokenizer.json");
  }
}

std::string divisors(int64_t number) {
  List list;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) list.push_back(std::to_string(d));
  }
  const std::string last = list.back();
  list.pop_back();
  return list.empty() ? last : base::join(list, ", ") + " or " + last;
}

void Checker::expert_degree(int64_t degree) {
  if (!sound({"model.args.moe_args.num_experts", "model.args.n_dense_layers", "model.flavor"})) {
    return;
  }
  const Value& value = settings_.at("model.args.moe_args.num_experts").value;
  if (!std::holds_alternative<int64_t>(value)) return;  // the flavor is unknown
  const auto experts = std::get<int64_t>(value);
  if (experts % degree == 0) return;
  fail("parallelism.expert_parallel_degree",
       base::format("parallelism.expert_parallel_degree is {} but layer {} has {} experts; use {}",
                    degree, settings_.integer("model.args.n_dense_layers"), experts,
                    divisors(experts)));
}

void Checker::degrees() {
  for (const std::string_view key :
       {"parallelism.data_parallel_replicate_degree", "parallelism.data_parallel_shard_degree",
        "parallelism.tensor_parallel_degree", "parallelism.pipeline_parallel_degree",
        "parallelism.context_parallel_degree", "parallelism.expert_parallel_degree",
        "parallelism.expert_tensor_parallel_degree"}) {
    if (!sound({key}) || settings_.integer(key) <= 1) continue;
    if (!why_inert(all_keys()[key_index(key)], settings_).empty()) continue;
    const size_t before = draft_.problems.size();
    if (key == "parallelism.expert_parallel_degree") expert_degree(settings_.integer(key));
    if (draft_.problems.size() > before) continue;
    fail(key, base::format("{} is {}: Heddle runs on one rank so far", key, settings_.integer(key)),
         "use 1");
  }
}

void Checker::batch() {
  if (!sound({"training.local_batch_size", "training.global_batch_size"})) return;
  const int64_t local = settings_.integer("training.local_batch_size");
  const int64_t global = settings_.integer("training.global_batch_size");
  if (global < 0 || global % local == 0) return;
  fail(
      "training.global_batch_size",
      base::format("training.global_batch_size is {} but all ranks together take {} sequences at a "
                   "time; use a multiple of {}",
                   global, local, local));
}

void Checker::dataset() {
  if (!sound({"training.dataset", "training.dataset_path"})) return;
  const List known = {"novels", "synthetic", "batches", "c4_test"};
  std::string name = settings_.text("training.dataset");
  const std::string typed = show(name);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool has_path = settings_.at("training.dataset_path").value != Value{};
  if (has_path && !name.empty()) return;
  if (name == "batches") {
    fail("training.dataset", "training.dataset is \"batches\" but training.dataset_path is unset",
         "name the .safetensors file that holds the batches");
  } else if (name == "c4" || name == "c4_validation") {
    fail("training.dataset",
         base::format("training.dataset is {}: Heddle does not stream it from the network", typed),
         "set training.dataset_path to a folder with its JSONL files");
  } else if (std::ranges::find(known, name) == known.end()) {
    fail("training.dataset",
         base::format("training.dataset is {}: expected one of {}, or training.dataset_path with "
                      "any name",
                      typed, base::join(known, ", ")),
         did_you_mean(base::nearest(name, known)));
  }
}

void Checker::recompute() {
  const std::string_view option = "activation_checkpoint.selective_ac_option";
  if (!sound({option, "activation_checkpoint.mode"})) return;
  if (settings_.text("activation_checkpoint.mode") != "selective") return;
  const std::string& text = settings_.text(option);
  const bool digits = !text.empty() && text.size() <= 9 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (text == "op" || digits) return;
  fail(option, base::format("{} is {}: expected \"op\" or a number of layers such as \"2\"", option,
                            show(text)));
}

// Inert for now, but who sets one waits for what it does.
void Checker::compiler_switches() {
  for (const std::string_view name :
       {"compile.dump", "compile.stop_after", "compile.disable_passes", "compile.rewrite_limit",
        "compile.verify"}) {
    const Key& key = all_keys()[key_index(name)];
    if (!settings_.given(name) || settings_.at(name).value == key.fallback) continue;
    if (key.no_effect.empty()) continue;
    draft_.warnings.push_back(base::format("{} does nothing: {}", name, key.no_effect));
  }
}

void Checker::steps() {
  if (!sound({"training.steps"})) return;
  const int64_t steps = settings_.integer("training.steps");
  if (sound({"debug.dump_step"})) {
    const auto* dump = std::get_if<int64_t>(&settings_.at("debug.dump_step").value);
    if (dump && *dump > steps) {
      fail("debug.dump_step",
           base::format("debug.dump_step is {} but training.steps is {}", *dump, steps),
           base::format("use 1 to {}", steps));
    }
  }
  if (!sound({"lr_scheduler.warmup_steps", "lr_scheduler.decay_ratio"})) return;
  const int64_t warmup = settings_.integer("lr_scheduler.warmup_steps");
  if (warmup > steps) {
    draft_.warnings.push_back(
        base::format("lr_scheduler.warmup_steps is {} but training.steps is {}: the learning rate "
                     "rises all the time",
                     warmup, steps));
  }
  const auto* ratio = std::get_if<double>(&settings_.at("lr_scheduler.decay_ratio").value);
  if (ratio == nullptr) return;
  const double decay = std::round(static_cast<double>(steps) * *ratio);
  const int64_t left = steps - std::min(warmup, steps);  // reference 5.10
  if (decay > static_cast<double>(left)) {
    draft_.warnings.push_back(base::format(
        "warm-up and decay take more than training.steps {}: the decay is cut to {} steps", steps,
        left));
  }
}

}  // namespace

void check_settings(Draft& draft, Settings& settings) {
  Checker checker(draft, settings);
  checker.missing_features();
  checker.model_name();
  checker.modules_and_folders();
  checker.degrees();
  checker.batch();
  checker.dataset();
  checker.recompute();
  checker.compiler_switches();
  checker.steps();
}

}  // namespace config
