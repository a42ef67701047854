// heddle doctor: asks the rooms what they find and prints a line each.

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "config/job_config.h"
#include "config/settings.h"
#include "host/gemm.h"
#include "host/measure.h"
#include "host/safetensors.h"
#include "main/commands.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

namespace program {
namespace {

using base::Exit;
using base::format;

constexpr const char* own_config = "configs/debug_model.toml";
constexpr uint64_t needed_disk = uint64_t{512} << 20;  // dumps and metrics of a debug run

// What was found, or what is missing and how to mend it.
struct Finding {
  std::string_view topic;
  std::string text;
  bool is_missing = false;
};

void show_line(const Finding& finding) {
  print(format("{:<11}{}{}\n", finding.topic, finding.is_missing ? "MISSING: " : "", finding.text));
  std::fflush(stdout);  // the measurement takes its time
}

config::Settings settings_for(Arguments arguments) {
  std::vector<std::string> flags(arguments.begin(), arguments.end());
  const bool has_file = std::ranges::any_of(flags, [](const std::string& flag) {
    return flag.starts_with("--job.config_file") || flag.starts_with("--job.config-file");
  });
  if (!has_file && base::file_exists(own_config)) {
    flags.push_back(std::string("--job.config_file=") + own_config);
  }
  return config::read_settings(flags);
}

std::optional<std::string> optional_text(const config::Settings& settings, std::string_view key) {
  const std::string* text = std::get_if<std::string>(&settings.at(key).value);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

Finding processor() {
  if (!base::has_required_features()) {
    return {"processor",
            format("{} has no AVX2, FMA and F16C; run on one that has", base::processor_name()),
            true};
  }
  return {"processor", format("{}, {}, {} cores", base::processor_name(),
                              base::to_text(base::vector_width()), base::usable_cores())};
}

Finding memory() { return {"memory", base::human_bytes(host::memory_limit_bytes())}; }

Finding speed() {
  const host::MachineSpeed speed = host::measure_speed(0.7);
  host::remember_speed(speed);
  return {"speed", format("{:.0f} GFLOP/s float32 multiply-add, {:.1f} GB/s memory (triad)",
                          speed.peak_gflops, speed.bandwidth_gbs)};
}

// "fmt 9.1.0" for a loaded libfmt.so.9 that is a link to libfmt.so.9.1.0.
int add_library(dl_phdr_info* info, size_t, void* list) {
  constexpr std::string_view known[] = {"fmt",     "xxhash",   "z",   "zstd",
                                        "pcre2-8", "utf8proc", "gomp"};
  char* real = realpath(info->dlpi_name, nullptr);
  const std::string path = real == nullptr ? "" : real;
  std::free(real);
  const std::string file = path.substr(path.find_last_of('/') + 1);
  const size_t dot = file.find(".so.");
  if (!file.starts_with("lib") || dot == std::string::npos) return 0;
  const std::string name = file.substr(3, dot - 3);
  if (std::ranges::find(known, name) != std::end(known)) {
    static_cast<std::vector<std::string>*>(list)->push_back(name + " " + file.substr(dot + 4));
  }
  return 0;
}

Finding libraries() {
  std::vector<std::string> names = {host::f32_library(), host::f64_library()};
  dl_iterate_phdr(add_library, &names);
  std::ranges::sort(names.begin() + 2, names.end());
  return {"libraries", base::join(names, "; ")};
}

Finding tokenizer(const config::Settings& settings) {
  const std::string& path = settings.text("model.hf_assets_path");
  const std::string dataset = config::job_config(settings).training.dataset;
  if (dataset == "batches" || dataset == "synthetic") {
    return {"tokenizer", "not needed: the dataset holds token ids"};
  }
  try {
    const text::Tokenizer tokenizer = text::Tokenizer::load(path);
    std::string line = format("{}, {} tokens", path, base::with_commas(tokenizer.vocab_size()));
    for (const std::string& warning : tokenizer.warnings()) line += "; " + warning;
    return {"tokenizer", line};
  } catch (const base::Error& e) {
    return {"tokenizer", e.message(), true};
  }
}

// "data/novels: 6 files, 3.8 MiB".
std::string describe_path(const std::string& path) {
  if (base::path_kind(path) != base::PathKind::directory) {
    return format("{}: {}", path, base::human_bytes(base::file_size(path, Exit::data)));
  }
  uint64_t files = 0, bytes = 0;
  for (const std::string& name : base::list_directory(path, Exit::data)) {
    const std::string file = base::join_path(path, name);
    if (base::path_kind(file) != base::PathKind::file) continue;
    ++files;
    bytes += base::file_size(file, Exit::data);
  }
  if (files == 0) base::fail_user(Exit::data, "{}: files expected, none found", path);
  return format("{}: {} files, {}", path, files, base::human_bytes(bytes));
}

Finding data(const config::Settings& settings) {
  const std::string name = config::job_config(settings).training.dataset;
  try {
    const text::Dataset dataset =
        text::find_dataset(name, optional_text(settings, "training.dataset_path"));
    if (dataset.kind == text::Dataset::Kind::batches) {
      const host::SafetensorsFile check(dataset.path, Exit::data);
    }
    if (dataset.path.empty()) return {"data", name + ", made on the fly"};
    return {"data", name + ", " + describe_path(dataset.path)};
  } catch (const base::Error& e) {
    return {"data", e.message(), true};
  }
}

Finding disk(const config::Settings& settings) {
  const std::string& folder = settings.text("job.dump_folder");
  std::string existing = folder;
  while (base::path_kind(existing) == base::PathKind::missing) {
    existing = base::parent_path(existing);
  }
  if (access(existing.c_str(), W_OK) != 0) {
    return {"disk", format("cannot write to {}; choose a folder with --job.dump_folder", existing),
            true};
  }
  const uint64_t free = host::disk_free_bytes(existing).value_or(UINT64_MAX);
  if (free < needed_disk) {
    return {"disk",
            format("{} needed for {}, {} free; choose another with --job.dump_folder",
                   base::human_bytes(needed_disk), folder, base::human_bytes(free)),
            true};
  }
  return {"disk", format("{} free for {}", base::human_bytes(free), folder)};
}

}  // namespace

int run_doctor(Arguments arguments) {
  const config::Settings settings = settings_for(arguments);
  int missing = 0;
  const auto show = [&](const Finding& finding) {
    show_line(finding);
    missing += finding.is_missing;
  };
  show(processor());
  show(memory());
  show(speed());
  show(libraries());
  show(tokenizer(settings));
  show(data(settings));
  show(disk(settings));
  if (missing == 0) {
    show_line({"ready", "nothing is missing"});
    return 0;
  }
  show_line(
      {"not ready",
       format("{} of 7 checks failed; ./run_train.sh mends what a script can mend", missing)});
  return static_cast<int>(Exit::check);
}

}  // namespace program
