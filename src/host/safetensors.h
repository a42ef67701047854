// Safetensors files: named tensors behind a JSON header (docs of huggingface/safetensors,
// "Format"). Reading maps the file and checks the whole header first: whatever is wrong is a
// UserError with the caller's exit code that names the file, the tensor, what was expected and what
// was found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/tensor.h"

namespace host {

struct TensorEntry {
  std::string name;
  std::string dtype;  // as in the file: "F32", "BF16", "F8_E4M3", ...
  Shape shape;
  uint64_t begin = 0, end = 0;  // within the data after the header
};

using Metadata = std::map<std::string, std::string>;

class SafetensorsFile {
 public:
  SafetensorsFile(const std::string& path, base::Exit exit);
  // The same from memory; `name` stands for the path in messages.
  static SafetensorsFile from_bytes(std::string bytes, const std::string& name, base::Exit exit);

  const std::string& path() const { return path_; }
  const Metadata& metadata() const { return metadata_; }
  std::span<const TensorEntry> entries() const { return entries_; }  // by name
  const TensorEntry* find(std::string_view name) const;              // nullptr when absent

  // The tensor, a read-only view of the file that keeps it mapped. Fails when there is none of that
  // name or when its dtype is none of ours (F8_E4M3, I8, ...).
  Tensor get(std::string_view name) const;
  // The same, and fails when it is not of `shape`; cast to `dtype` where its own differs, but no
  // integer becomes a float nor the other way round.
  Tensor get(std::string_view name, DType dtype, std::span<const int64_t> shape) const;

 private:
  SafetensorsFile(const std::string& path, base::Exit exit, std::span<const std::byte> bytes,
                  std::shared_ptr<const void> owner);
  const TensorEntry& entry(std::string_view name) const;

  std::string path_;
  base::Exit exit_;
  Metadata metadata_;
  std::vector<TensorEntry> entries_;
  std::span<const std::byte> data_;    // after the header
  std::shared_ptr<const void> owner_;  // of the bytes: tensors share it
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// A file to be: the bytes before the data, and where each tensor goes.
struct SafetensorsLayout {
  std::string head;               // the header with its length
  std::vector<size_t> order;      // of the tensors' data
  std::vector<uint64_t> offsets;  // of each tensor, from the start of the file
  uint64_t bytes = 0;             // of the whole file
};
// In order of falling alignment, then name, as the reference writer does, so that each tensor lies
// on a multiple of its element size. Names are CHECKed: UTF-8, none twice, not "__metadata__".
SafetensorsLayout layout_safetensors(std::span<const NamedTensor> tensors,
                                     const Metadata& metadata);

// "F32" for f32, as in a file; nothing for a name that is none of ours.
std::string_view safetensors_dtype(DType dtype);
std::optional<DType> parse_safetensors_dtype(std::string_view name);

// Atomic, in the layout above. Bytes go to the file as they are, without a copy.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata, base::Exit exit);

}  // namespace host
