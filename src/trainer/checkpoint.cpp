// Writing, reading and verifying checkpoints.
#include "trainer/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "host/safetensors.h"

namespace trainer {

using base::Exit;
using host::Tensor;

namespace {

constexpr std::string_view leftover = ".tmp";  // of a write or a removal
constexpr uint64_t manifest_limit = uint64_t{256} << 20;

bool is_moment(std::string_view name) { return name.starts_with("exp_avg"); }

// A file that is closed whatever happens.
class OpenFile {
 public:
  OpenFile(base::Disk& disk, const std::string& path)
      : disk_(disk), path_(path), file_(disk.create_file(path)) {}
  ~OpenFile() { disk_.close_file(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::span<const std::byte> bytes) { disk_.write(file_, bytes); }
  void sync() { disk_.sync_file(file_); }

 private:
  base::Disk& disk_;
  std::string path_;
  int file_;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct ShardPlan {
  std::string file;
  std::vector<host::NamedTensor> tensors;
  host::SafetensorsLayout layout;
};

// Tensors in the order of their names, a new shard where the next one would not fit.
void plan_shards(const NamedTensors& tensors, const std::string& kind, uint64_t shard_bytes,
                 std::vector<ShardPlan>& plans) {
  const size_t before = plans.size();
  uint64_t filled = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = static_cast<uint64_t>(tensor.bytes());
    if (plans.size() == before || filled + bytes > shard_bytes) plans.emplace_back(), filled = 0;
    plans.back().tensors.push_back({name, tensor.contiguous()});
    filled += bytes;
  }
  const size_t count = plans.size() - before;
  for (size_t i = 0; i < count; ++i) {
    ShardPlan& plan = plans[before + i];
    plan.file = base::format("{}-{:05}-of-{:05}.safetensors", kind, i + 1, count);
    plan.layout = host::layout_safetensors(plan.tensors, {{"format", "pt"}});
  }
}

// Writes one shard and notes it in the manifest.
void write_shard(base::Disk& disk, const std::string& folder, const ShardPlan& plan,
                 Manifest& manifest) {
  OpenFile file(disk, base::join_path(folder, plan.file));
  const std::string& head = plan.layout.head;
  file.write(bytes_of(head));
  for (const size_t i : plan.layout.order) {
    const auto& [name, tensor] = plan.tensors[i];
    StoredTensor stored{
        tensor.shape(), tensor.dtype(), manifest.shards.size(), plan.layout.offsets[i], {}};
    std::span<const std::byte> rest(tensor.raw(), static_cast<size_t>(tensor.bytes()));
    while (!rest.empty()) {
      const auto block = rest.first(std::min<size_t>(rest.size(), manifest.block_bytes));
      stored.hashes.push_back(base::xxh3_128_hex(block));
      file.write(block);
      rest = rest.subspan(block.size());
    }
    manifest.tensors.emplace(name, std::move(stored));
  }
  file.sync();
  manifest.shards.push_back({plan.file, plan.layout.bytes, head.size(), base::xxh3_128_hex(head)});
}

void write_manifest(base::Disk& disk, const std::string& folder, const std::string& text) {
  OpenFile file(disk, base::join_path(folder, manifest_name));
  file.write(bytes_of(text));
  file.sync();
}

void remove_tree(base::Disk& disk, const std::string& path) {
  for (const std::string& name : base::list_directory(path, Exit::checkpoint)) {
    const std::string inner = base::join_path(path, name);
    if (base::path_kind(inner) == base::PathKind::directory) {
      remove_tree(disk, inner);
    } else {
      disk.remove_file(inner);
    }
  }
  disk.remove_folder(path);
}

bool is_folder(const std::string& path) {
  return base::path_kind(path) == base::PathKind::directory;
}

[[noreturn]] void fail_full(const std::string& folder, uint64_t needed, uint64_t free) {
  throw base::SystemError(
      Exit::checkpoint,
      base::format("{} is full: a checkpoint needs {}, {} are free: {} are missing", folder,
                   base::human_bytes(needed), base::human_bytes(free),
                   base::human_bytes(needed > free ? needed - free : 0)),
      ENOSPC);
}

void write_all(base::Disk& disk, const std::string& temporary, const std::vector<ShardPlan>& plans,
               Manifest& manifest) {
  disk.make_folder(temporary);
  for (const ShardPlan& plan : plans) {
    try {
      write_shard(disk, temporary, plan, manifest);
    } catch (base::Error& e) {
      e.add_note("while writing " + base::join_path(temporary, plan.file));
      throw;
    }
  }
  write_manifest(disk, temporary, to_text(manifest));
  disk.sync_folder(temporary);
}

// N of "step-N", nothing for any other name.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with("step-")) return std::nullopt;
  name.remove_prefix(5);
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool whole = error == std::errc() && end == name.data() + name.size() && step >= 0;
  if (!whole || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  return step;
}

// Opens a shard and checks what is not tensor data.
void check_shard(const base::RandomAccessFile& file, const Shard& shard, const std::string& path) {
  if (file.size() != shard.bytes) {
    base::fail_user(Exit::checkpoint, "{}: {} bytes expected, {} found{}", path, shard.bytes,
                    file.size(), file.size() < shard.bytes ? ": the file is cut off" : "");
  }
  std::string head(shard.head_bytes, '\0');  // at most the file's size, by the manifest's check
  file.read_at(0, std::as_writable_bytes(std::span(head)));
  if (base::xxh3_128_hex(head) != shard.head_hash) {
    base::fail_user(Exit::checkpoint, "{}: its header does not have its hash: the file is damaged",
                    path);
  }
}

// Reads a tensor block by block; each block is checked in the memory that it will be used from.
Tensor read_tensor(const base::RandomAccessFile& file, const std::string& path,
                   const std::string& name, const StoredTensor& stored, uint64_t block_bytes) {
  Tensor tensor = Tensor::make(stored.dtype, stored.shape);
  const std::span<std::byte> all(tensor.raw(), stored.bytes());
  for (size_t i = 0; i < stored.hashes.size(); ++i) {
    const uint64_t at = i * block_bytes;
    const auto block = all.subspan(at, std::min<uint64_t>(block_bytes, all.size() - at));
    file.read_at(stored.offset + at, block);
    if (base::xxh3_128_hex(block) != stored.hashes[i]) {
      base::fail_user(Exit::checkpoint,
                      "{}: tensor {}: block {} of {} (bytes {} to {} of the file) does not have "
                      "its hash: the file is damaged",
                      path, name, i + 1, stored.hashes.size(), stored.offset + at,
                      stored.offset + at + block.size());
    }
  }
  return tensor;
}

bool is_wanted(Parts parts, std::string_view name) {
  return parts == Parts::all || (parts == Parts::moments) == is_moment(name);
}

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step) {
  return base::join_path(folder, base::format("step-{}", step));
}

std::vector<int64_t> list_checkpoints(const std::string& folder) {
  std::vector<int64_t> steps;
  if (!is_folder(folder)) return steps;
  for (const std::string& name : base::list_directory(folder, Exit::checkpoint)) {
    const auto step = step_of(name);
    if (step && is_folder(base::join_path(folder, name))) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

uint64_t write_checkpoint(base::Disk& disk, const std::string& folder, const Snapshot& snapshot,
                          const WriteOptions& options) {
  Manifest manifest = snapshot.facts;
  manifest.block_bytes = options.block_bytes;
  std::vector<ShardPlan> plans;
  plan_shards(snapshot.weights, "model", options.shard_bytes, plans);
  plan_shards(snapshot.moments, "optimizer", options.shard_bytes, plans);
  uint64_t needed = 0;
  for (const ShardPlan& plan : plans) needed += plan.layout.bytes;
  const std::string path = checkpoint_path(folder, manifest.step);
  const std::string temporary = path + std::string(leftover);
  if (is_folder(temporary)) remove_tree(disk, temporary);
  if (const uint64_t free = disk.free_bytes(folder); free < needed) {
    fail_full(folder, needed, free);
  }
  try {
    write_all(disk, temporary, plans, manifest);
    disk.rename(temporary, path);
  } catch (const base::SystemError& e) {
    // Nothing is left behind, as far as the disk lets us; the next start removes the rest.
    try {
      if (is_folder(temporary)) remove_tree(disk, temporary);
    } catch (const base::Error&) {
    }
    if (e.code() == ENOSPC || e.code() == EDQUOT) {
      fail_full(folder, needed, disk.free_bytes(folder));
    }
    throw;
  }
  disk.sync_folder(folder);
  return needed;
}

void remove_checkpoint(base::Disk& disk, const std::string& folder, int64_t step) {
  const std::string path = checkpoint_path(folder, step);
  const std::string temporary = path + std::string(leftover);
  if (is_folder(temporary)) remove_tree(disk, temporary);
  disk.rename(path, temporary);
  disk.sync_folder(folder);  // before the first file goes
  remove_tree(disk, temporary);
}

void remove_leftovers(base::Disk& disk, const std::string& folder) {
  for (const std::string& name : base::list_directory(folder, Exit::checkpoint)) {
    const std::string path = base::join_path(folder, name);
    const bool is_leftover =
        name.ends_with(leftover) && step_of(name.substr(0, name.size() - leftover.size()));
    if (is_leftover && is_folder(path)) remove_tree(disk, path);
  }
}

std::string set_aside(base::Disk& disk, const std::string& folder, int64_t step) {
  const std::string path = checkpoint_path(folder, step);
  std::string target = path + ".aside";
  for (int i = 2; base::path_kind(target) != base::PathKind::missing; ++i) {
    target = base::format("{}.aside{}", path, i);
  }
  disk.rename(path, target);
  disk.sync_folder(folder);
  return target;
}

Manifest read_manifest(const std::string& path) {
  const std::string file = base::join_path(path, manifest_name);
  return parse_manifest(base::read_file(file, Exit::checkpoint, manifest_limit), file);
}

NamedTensors read_tensors(const std::string& path, const Manifest& manifest, Parts parts) {
  NamedTensors out;
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    const std::string shard_path = base::join_path(path, manifest.shards[i].file);
    std::optional<base::RandomAccessFile> file;
    for (const auto& [name, stored] : manifest.tensors) {
      if (stored.shard != i || !is_wanted(parts, name)) continue;
      if (!file) {
        file.emplace(shard_path, Exit::checkpoint);
        check_shard(*file, manifest.shards[i], shard_path);
      }
      out[name] = read_tensor(*file, shard_path, name, stored, manifest.block_bytes);
    }
  }
  return out;
}

std::vector<std::string> find_damage(const std::string& path, const Manifest& manifest) {
  std::vector<std::string> problems;
  const auto note = [&](auto&& action) {
    try {
      action();
    } catch (const base::Error& e) {
      problems.push_back(e.message());
    }
  };
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    const std::string shard_path = base::join_path(path, manifest.shards[i].file);
    note([&] {
      const base::RandomAccessFile file(shard_path, Exit::checkpoint);
      note([&] { check_shard(file, manifest.shards[i], shard_path); });
      for (const auto& [name, stored] : manifest.tensors) {
        if (stored.shard != i || file.size() != manifest.shards[i].bytes) continue;
        note([&] { read_tensor(file, shard_path, name, stored, manifest.block_bytes); });
      }
    });
  }
  return problems;
}

}  // namespace trainer
