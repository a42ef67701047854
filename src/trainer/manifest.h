// The manifest of a checkpoint: what the run was, where each tensor lies, and the hashes that prove
// its bytes. docs/checkpoints.md describes the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/model_args.h"
#include "host/tensor.h"

namespace trainer {

inline constexpr std::string_view manifest_name = "manifest.json";
inline constexpr int64_t manifest_version = 1;

// Steps done, by part; they differ only after checkpoint.exclude_from_loading. Batches and learning
// rates are functions of the step, so these counts are the data position and the schedule's state.
struct Progress {
  int64_t train = 0, optimizer = 0, schedule = 0, data = 0;
  bool operator==(const Progress&) const = default;
};

// Named values, each as JSON text.
using Fields = std::map<std::string, std::string>;

struct Shard {
  std::string file;         // name in the checkpoint's folder
  uint64_t bytes = 0;       // of the whole file
  uint64_t head_bytes = 0;  // before the first tensor
  std::string head_hash;    // XXH3-128 of those
};

struct StoredTensor {
  host::Shape shape;
  host::DType dtype = host::DType::f32;
  size_t shard = 0;
  uint64_t offset = 0;              // from the start of the shard
  std::vector<std::string> hashes;  // XXH3-128 of each block; the last block may be short

  uint64_t bytes() const;
};

enum class Contents : uint8_t { all, model };

struct Manifest {
  int64_t step = 0;
  Contents contents = Contents::all;
  Progress progress;
  int64_t tokens_seen = 0;
  Fields model;     // what another model would have different
  Fields settings;  // what else the numbers of a run depend on
  uint64_t block_bytes = 0;
  std::vector<Shard> shards;
  std::map<std::string, StoredTensor> tensors;
};

// The file's text, ending in a line with the hash of all lines above it.
std::string to_text(const Manifest& manifest);
// Text with its closing hash, from text without: for tools and tests.
std::string seal_manifest(std::string body);

// Not damage, so nothing to fall back from: the checkpoint is of a newer format or another model.
class ForeignCheckpoint : public base::UserError {
  using base::UserError::UserError;
};

// Every shard is covered by its head and tensors without gap or overlap, and hashes are complete.
// Throws UserError (exit 4) that names `path`, what was expected and what was found.
Manifest parse_manifest(std::string_view text, const std::string& path);

// What makes a model: sizes, router, rotation, and the type of its weights.
Fields model_fields(const config::ModelArgs& args, const std::string& dtype);
// The keys that steer numbers, out of all settings as JSON (config::to_json).
Fields settings_fields(const std::string& settings_json);
// XXH3-128 over the lines "name = value".
std::string fields_hash(const Fields& fields);

// "dim: 256 in the checkpoint, 512 here", one entry a field that differs.
std::vector<std::string> differences(const Fields& stored, const Fields& here);

}  // namespace trainer
