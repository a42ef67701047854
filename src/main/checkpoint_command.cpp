// heddle convert inspect and verify: what a checkpoint or safetensors file holds, and whether every
// byte is what was written.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "host/safetensors.h"
#include "main/commands.h"
#include "trainer/checkpoint.h"

namespace program {
namespace {

using base::Exit;

std::string one_path(Arguments arguments, const char* command) {
  if (arguments.size() != 1 || arguments[0].starts_with("--")) {
    base::fail_user(Exit::config, "convert {}: expected one path and no options, found {}", command,
                    base::join(std::vector<std::string>(arguments.begin(), arguments.end()), " "));
  }
  return arguments[0];
}

bool is_folder(const std::string& path) {
  return base::path_kind(path) == base::PathKind::directory;
}

// The checkpoint that a path means: itself, or the newest of a folder of checkpoints.
std::string checkpoint_at(const std::string& path) {
  if (base::file_exists(base::join_path(path, trainer::manifest_name))) return path;
  const std::vector<int64_t> steps = trainer::list_checkpoints(path);
  if (!steps.empty()) return trainer::checkpoint_path(path, steps.back());
  base::fail_user(Exit::checkpoint,
                  "{}: no checkpoint: expected a folder with {}, or one with folders step-N", path,
                  trainer::manifest_name);
}

std::string tensor_line(std::string_view name, std::string_view dtype,
                        const std::vector<int64_t>& shape, uint64_t bytes) {
  std::string dims;
  for (const int64_t dim : shape) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
  return base::format("  {:<52} {:<5} {:<18} {:>12}\n", name, dtype, "[" + dims + "]",
                      base::with_commas(bytes));
}

std::string fields_line(const char* title, const trainer::Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += base::format("{:<10}{} = {}\n", out.empty() ? title : "", name, value);
  }
  return out;
}

void inspect_checkpoint(const std::string& path) {
  const trainer::Manifest m = trainer::read_manifest(path);
  uint64_t bytes = 0, hashes = 0;
  for (const trainer::Shard& shard : m.shards) bytes += shard.bytes;
  for (const auto& [name, tensor] : m.tensors) hashes += tensor.hashes.size();
  print(
      base::format("{}\nstep      {}, {} tokens seen, {}\n", path, m.step,
                   base::with_commas(static_cast<uint64_t>(m.tokens_seen)),
                   m.contents == trainer::Contents::all ? "weights and moments" : "weights only"));
  print(base::format("progress  train {}, optimizer {}, schedule {}, data {}\n", m.progress.train,
                     m.progress.optimizer, m.progress.schedule, m.progress.data));
  print(base::format("size      {} in {} files, {} tensors, {} hashes of {} blocks\n",
                     base::human_bytes(bytes), m.shards.size(), m.tensors.size(), hashes,
                     base::human_bytes(m.block_bytes)));
  print(fields_line("model", m.model) + fields_line("settings", m.settings));
  for (size_t i = 0; i < m.shards.size(); ++i) {
    print(base::format("{}  {}\n", m.shards[i].file, base::human_bytes(m.shards[i].bytes)));
    for (const auto& [name, t] : m.tensors) {
      if (t.shard != i) continue;
      print(tensor_line(name, host::safetensors_dtype(t.dtype), t.shape, t.bytes()));
    }
  }
}

void inspect_file(const std::string& path) {
  const host::SafetensorsFile file(path, Exit::checkpoint);
  print(base::format("{}  {}, {} tensors\n", path,
                     base::human_bytes(base::file_size(path, Exit::checkpoint)),
                     file.entries().size()));
  for (const auto& [key, value] : file.metadata()) {
    print(base::format("  metadata: {} = {}\n", key, value));
  }
  for (const host::TensorEntry& e : file.entries()) {
    print(tensor_line(e.name, e.dtype, e.shape, e.end - e.begin));
  }
}

// Prints one line, and the damage under it; returns whether the checkpoint is sound.
bool verify_checkpoint(const std::string& path) {
  std::vector<std::string> problems;
  uint64_t bytes = 0, hashes = 0;
  try {
    const trainer::Manifest m = trainer::read_manifest(path);
    for (const trainer::Shard& shard : m.shards) bytes += shard.bytes;
    for (const auto& [name, tensor] : m.tensors) hashes += tensor.hashes.size();
    problems = trainer::find_damage(path, m);
    // A resume takes the step from the folder's name, so the two must agree.
    const std::string name = path.substr(path.find_last_of('/') + 1);
    if (name.starts_with("step-") && name != base::format("step-{}", m.step)) {
      problems.push_back(base::format("{}: the manifest says it is of step {}", path, m.step));
    }
  } catch (const base::UserError& e) {
    problems = {e.message()};
  }
  if (problems.empty()) {
    print(base::format("ok       {}  ({}, {} hashes)\n", path, base::human_bytes(bytes),
                       base::with_commas(hashes)));
  } else {
    print(base::format("DAMAGED  {}\n", path));
    for (const std::string& problem : problems) print("  " + problem + "\n");
  }
  return problems.empty();
}

}  // namespace

int run_convert_inspect(Arguments arguments) {
  const std::string path = one_path(arguments, "inspect");
  if (is_folder(path)) {
    inspect_checkpoint(checkpoint_at(path));
  } else {
    inspect_file(path);
  }
  return 0;
}

int run_convert_verify(Arguments arguments) {
  const std::string path = one_path(arguments, "verify");
  std::vector<std::string> paths;
  for (const int64_t step : trainer::list_checkpoints(path)) {
    paths.push_back(trainer::checkpoint_path(path, step));
  }
  if (paths.empty()) paths.push_back(checkpoint_at(path));
  const auto damaged = std::ranges::count_if(
      paths, [](const std::string& each) { return !verify_checkpoint(each); });
  return static_cast<int>(damaged == 0 ? Exit::success : Exit::check);
}

}  // namespace program
