// Reading and writing of safetensors files; the header's JSON is read in safetensors_header.cpp.
#include "host/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/files.h"
#include "base/text.h"
#include "host/safetensors_header.h"

namespace host {
namespace {

constexpr uint64_t header_limit = 100'000'000;  // the format's own
constexpr uint64_t length_bytes = 8;

constexpr std::pair<std::string_view, DType> our_dtypes[] = {
    {"F32", DType::f32}, {"F64", DType::f64}, {"BF16", DType::bf16}, {"F16", DType::f16},
    {"I64", DType::i64}, {"I32", DType::i32}, {"U8", DType::u8},     {"BOOL", DType::boolean}};

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t d = 0; d < shape.size(); ++d) out += base::format(d ? ", {}" : "{}", shape[d]);
  return out + "]";
}

// Bytes of the entry by dtype and shape; nothing when they exceed 63 bits (even beside a 0) or are
// no whole number of bytes.
std::optional<uint64_t> byte_count(const TensorEntry& entry) {
  int64_t bits = bits_of_safetensors_dtype(entry.dtype);
  bool is_empty = false;
  for (const int64_t dim : entry.shape) {
    is_empty = is_empty || dim == 0;
    if (__builtin_mul_overflow(bits, std::max<int64_t>(dim, 1), &bits)) return std::nullopt;
  }
  if (is_empty) return 0;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

// Sorted by place, the tensors touch each other from the first byte to the last.
void check_offsets(std::span<const TensorEntry> entries, uint64_t data_size,
                   const std::string& path, base::Exit exit) {
  std::vector<const TensorEntry*> by_place;
  for (const TensorEntry& e : entries) {
    const std::optional<uint64_t> bytes = byte_count(e);
    const std::string type = base::format("{} {}", e.dtype, shape_text(e.shape));
    if (!bytes) {
      base::fail_user(exit, "{}: tensor {}: {} is no whole number of bytes below 2^60", path,
                      e.name, type);
    }
    if (e.end < e.begin || e.end - e.begin != *bytes) {
      base::fail_user(exit, "{}: tensor {}: {} bytes expected for {}, data_offsets [{}, {}] found",
                      path, e.name, *bytes, type, e.begin, e.end);
    }
    by_place.push_back(&e);
  }
  std::ranges::sort(by_place, [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t at = 0;
  for (const TensorEntry* e : by_place) {
    if (e->begin != at) {
      base::fail_user(exit, "{}: tensor {}: data expected at offset {}, {} found: {}", path,
                      e->name, at, e->begin, e->begin > at ? "a gap" : "an overlap");
    }
    at = e->end;
  }
  if (at != data_size) {
    base::fail_user(exit, "{}: {} bytes of data expected, {} found{}", path, at, data_size,
                    data_size < at ? ": the file is cut off" : "");
  }
}

std::string_view header_json(std::span<const std::byte> bytes, const std::string& path,
                             base::Exit exit) {
  if (bytes.size() < length_bytes) {
    base::fail_user(exit, "{}: no safetensors file: at least 8 bytes expected, {} found", path,
                    bytes.size());
  }
  uint64_t length;  // little-endian, as the only processors we run on
  std::memcpy(&length, bytes.data(), length_bytes);
  if (length > header_limit) {
    base::fail_user(exit, "{}: no safetensors file: header of at most {} bytes expected, {} found",
                    path, header_limit, length);
  }
  if (length > bytes.size() - length_bytes) {
    base::fail_user(exit, "{}: header of {} bytes expected, {} found: the file is cut off", path,
                    length, bytes.size() - length_bytes);
  }
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes, length};
}

// Keys in the order of `tensors`; padded so that the data starts on a multiple of 8 bytes.
std::string header_text(std::span<const NamedTensor* const> tensors, const Metadata& metadata) {
  const auto dump = [](const nlohmann::ordered_json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string json = "{";
  if (!metadata.empty()) json += "\"__metadata__\":" + dump(metadata);
  int64_t at = 0;
  for (const NamedTensor* t : tensors) {
    const int64_t end = at + t->tensor.bytes();
    if (json.size() > 1) json += ',';
    json += dump(t->name) + ":" +
            dump({{"dtype", safetensors_dtype(t->tensor.dtype())},
                  {"shape", t->tensor.shape()},
                  {"data_offsets", {at, end}}});
    at = end;
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

void check_names(std::span<const NamedTensor> tensors) {
  std::vector<std::string_view> names;
  for (const NamedTensor& t : tensors) {
    CHECK(base::is_valid_utf8(t.name) && t.name != "__metadata__");
    names.push_back(t.name);
  }
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path, base::Exit exit,
                                 std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner)
    : path_(path), exit_(exit), owner_(std::move(owner)) {
  const std::string_view json = header_json(bytes, path, exit);
  SafetensorsHeader header = parse_safetensors_header(json, path, exit);
  data_ = bytes.subspan(length_bytes + json.size());
  check_offsets(header.entries, data_.size(), path, exit);
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
}

SafetensorsFile::SafetensorsFile(const std::string& path, base::Exit exit)
    : SafetensorsFile([&] {
        auto file = std::make_shared<const base::MappedFile>(path, exit);
        return SafetensorsFile(path, exit, file->bytes(), file);
      }()) {}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, const std::string& name,
                                            base::Exit exit) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return SafetensorsFile(name, exit, std::as_bytes(std::span(*owner)), owner);
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &TensorEntry::name);
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

const TensorEntry& SafetensorsFile::entry(std::string_view name) const {
  if (const TensorEntry* e = find(name)) return *e;
  std::vector<std::string> names;
  for (const TensorEntry& e : entries_) names.push_back(e.name);
  const std::string near = base::nearest(name, names);
  base::fail_user(exit_, "{}: no tensor {}{}", path_, name,
                  near.empty() ? "" : base::format("; did you mean {}?", near));
}

Tensor SafetensorsFile::get(std::string_view name) const {
  const TensorEntry& e = entry(name);
  const std::optional<DType> dtype = parse_safetensors_dtype(e.dtype);
  if (!dtype) {
    base::fail_user(exit_,
                    "{}: tensor {}: F64, F32, BF16, F16, I64, I32, U8 or BOOL expected, {} found",
                    path_, name, e.dtype);
  }
  const std::span<const std::byte> bytes = data_.subspan(e.begin, e.end - e.begin);
  const auto is_no_bool = [](std::byte b) { return b > std::byte{1}; };
  if (*dtype == DType::boolean && std::ranges::any_of(bytes, is_no_bool)) {
    base::fail_user(exit_, "{}: tensor {}: bytes 0 or 1 expected in BOOL, others found", path_,
                    name);
  }
  void* data = const_cast<std::byte*>(bytes.data());
  if (reinterpret_cast<uintptr_t>(data) % byte_size(*dtype) == 0) {
    return Tensor::borrow(*dtype, e.shape, data, owner_);
  }
  const Tensor aligned = Tensor::make(*dtype, e.shape);
  std::memcpy(aligned.raw(), bytes.data(), bytes.size());
  return aligned;
}

Tensor SafetensorsFile::get(std::string_view name, DType dtype,
                            std::span<const int64_t> shape) const {
  const Tensor x = get(name);
  if (!std::ranges::equal(x.shape(), shape)) {
    base::fail_user(exit_, "{}: tensor {}: shape {} expected, {} found", path_, name,
                    shape_text(shape), shape_text(x.shape()));
  }
  if (base::is_float(x.dtype()) != base::is_float(dtype)) {
    base::fail_user(exit_, "{}: tensor {}: {} expected, {} found", path_, name,
                    base::is_float(dtype) ? "a float type" : "an integer type", entry(name).dtype);
  }
  return cast(x, dtype);
}

std::string_view safetensors_dtype(DType dtype) {
  return our_dtypes[static_cast<int>(dtype)].first;
}

std::optional<DType> parse_safetensors_dtype(std::string_view name) {
  for (const auto& [text, dtype] : our_dtypes) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

SafetensorsLayout layout_safetensors(std::span<const NamedTensor> tensors,
                                     const Metadata& metadata) {
  check_names(tensors);
  SafetensorsLayout layout;
  layout.order.resize(tensors.size());
  std::iota(layout.order.begin(), layout.order.end(), size_t{0});
  std::ranges::sort(layout.order, [&](size_t a, size_t b) {
    const int64_t size_a = byte_size(tensors[a].tensor.dtype());
    const int64_t size_b = byte_size(tensors[b].tensor.dtype());
    return size_a != size_b ? size_a > size_b : tensors[a].name < tensors[b].name;
  });
  std::vector<const NamedTensor*> ordered;
  for (const size_t i : layout.order) ordered.push_back(&tensors[i]);
  const std::string json = header_text(ordered, metadata);
  const uint64_t length = json.size();
  layout.head.assign(reinterpret_cast<const char*>(&length), length_bytes);
  layout.head += json;
  layout.bytes = layout.head.size();
  layout.offsets.resize(tensors.size());
  for (const size_t i : layout.order) {
    layout.offsets[i] = layout.bytes;
    layout.bytes += static_cast<uint64_t>(tensors[i].tensor.bytes());
  }
  return layout;
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata, base::Exit exit) {
  const SafetensorsLayout layout = layout_safetensors(tensors, metadata);
  base::AtomicFile file(path, exit);
  file.write(layout.head);
  for (const size_t i : layout.order) {
    const Tensor row_major = tensors[i].tensor.contiguous();
    file.write({row_major.raw(), static_cast<size_t>(row_major.bytes())});
  }
  file.commit();
}

}  // namespace host
