// Checkpoints on the disk: written so that a crash at any moment leaves the old ones and at most a
// leftover with another name, read so that no byte is used before its hash was checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/disk.h"
#include "trainer/manifest.h"
#include "trainer/step_runner.h"

namespace trainer {

// What goes into a checkpoint. Tensors are handles to memory that nobody writes.
struct Snapshot {
  Manifest facts;  // but block_bytes, shards and tensors
  NamedTensors weights, moments;
};

struct WriteOptions {
  uint64_t block_bytes = uint64_t{16} << 20;  // one hash each
  uint64_t shard_bytes = uint64_t{4} << 30;   // a shard takes tensors up to this, at least one
};

// Writes `folder`/step-N, which must not be there, and returns its bytes. Everything is on the disk
// when it returns. Throws SystemError; a full disk has code ENOSPC and says how much is missing.
uint64_t write_checkpoint(base::Disk& disk, const std::string& folder, const Snapshot& snapshot,
                          const WriteOptions& options = {});

std::string checkpoint_path(const std::string& folder, int64_t step);
std::vector<int64_t> list_checkpoints(const std::string& folder);  // steps, ascending

// Gives the folder another name first, so that it is never a checkpoint with files missing.
void remove_checkpoint(base::Disk& disk, const std::string& folder, int64_t step);
// What a killed process left of a write or a removal.
void remove_leftovers(base::Disk& disk, const std::string& folder);
// Renames step-N to step-N.aside (or .aside2, ...), which nothing resumes from; returns the path.
std::string set_aside(base::Disk& disk, const std::string& folder, int64_t step);

// `path` is the folder of one checkpoint. Every problem is a UserError with exit code 4 that names
// the file, and the tensor where there is one.
Manifest read_manifest(const std::string& path);
enum class Parts : uint8_t { weights, moments, all };
NamedTensors read_tensors(const std::string& path, const Manifest& manifest, Parts parts);
// Everything that is wrong with the files of a checkpoint, one line each.
std::vector<std::string> find_damage(const std::string& path, const Manifest& manifest);

}  // namespace trainer
