// A strict reader of the header, over the events of the JSON parser: a parser that builds a tree
// would silently keep one of two equal keys.
#include "host/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace host {
namespace {

// Where in {"name": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {...}}
// we are.
enum class Place : uint8_t { start, top, metadata, entry, shape, offsets, end };

struct Seen {
  bool dtype = false, shape = false, offsets = false;
};

// The events' names and signatures are the JSON parser's; each returns true to go on, or throws.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, base::Exit exit) : path_(path), exit_(exit) {}
  SafetensorsHeader take() { return std::move(header_); }

  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { fail_value("null"); }
  bool boolean(bool value) { fail_value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { fail_value(base::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) { fail_value(text); }
  bool binary(binary_t&) { fail_value("binary data"); }

  bool number_unsigned(number_unsigned_t value) {
    if (place_ == Place::shape && value <= INT64_MAX) {
      header_.entries.back().shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? header_.entries.back().begin : header_.entries.back().end) = value;
    } else {
      fail_value(base::format("{}", value));
    }
    return true;
  }

  bool string(string_t& value) {
    if (place_ == Place::metadata) {
      if (!header_.metadata.emplace(key_, value).second) fail_duplicate("__metadata__", key_);
    } else if (place_ == Place::entry && key_ == "dtype") {
      TensorEntry& entry = header_.entries.back();
      if (bits_of_safetensors_dtype(value) == 0) {
        fail("tensor {}: dtype such as F32, BF16 or I64 expected, \"{}\" found", entry.name, value);
      }
      entry.dtype = value;
    } else {
      fail_value(base::format("\"{}\"", value));
    }
    return true;
  }

  bool start_object(size_t) {
    if (place_ == Place::start) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      if (std::exchange(has_metadata_, true)) fail("__metadata__ appears twice");
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      header_.entries.emplace_back().name = key_;
      seen_ = {};
      place_ = Place::entry;
    } else {
      fail_value("{...}");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::entry) {
      const std::string& name = header_.entries.back().name;
      if (!seen_.dtype) fail("tensor {}: key dtype is missing", name);
      if (!seen_.shape) fail("tensor {}: key shape is missing", name);
      if (!seen_.offsets) fail("tensor {}: key data_offsets is missing", name);
    }
    place_ = place_ == Place::top ? Place::end : Place::top;
    return true;
  }

  bool start_array(size_t) {
    if (place_ == Place::entry && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::entry && key_ == "data_offsets") {
      offsets_ = 0;
      place_ = Place::offsets;
    } else {
      fail_value("[...]");
    }
    return true;
  }

  bool end_array() {
    if (place_ == Place::offsets && offsets_ != 2) {
      fail("tensor {}: data_offsets with 2 numbers expected, {} found", header_.entries.back().name,
           offsets_);
    }
    place_ = Place::entry;
    return true;
  }

  bool key(string_t& value) {
    key_ = value;
    if (place_ != Place::entry) return true;
    bool* seen = value == "dtype"          ? &seen_.dtype
                 : value == "shape"        ? &seen_.shape
                 : value == "data_offsets" ? &seen_.offsets
                                           : nullptr;
    if (seen == nullptr) {
      fail("tensor {}: keys dtype, shape and data_offsets expected, \"{}\" found",
           header_.entries.back().name, value);
    }
    if (std::exchange(*seen, true)) fail_duplicate(header_.entries.back().name, value);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) {
    const std::string_view text = error.what();  // "[json.exception...] parse error at ...: why"
    const size_t bracket = text.find("] ");
    fail("header is not valid JSON at byte {}: {}", position,
         bracket == std::string_view::npos ? text : text.substr(bracket + 2));
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    base::fail_user(exit_, "{}: {}", path_, base::format(pattern, args...));
  }

  [[noreturn]] void fail_duplicate(std::string_view where, std::string_view key) const {
    fail("{}: key \"{}\" appears twice", where, key);
  }

  [[noreturn]] void fail_value(std::string_view found) const {
    const auto expect = [&](std::string_view where, std::string_view what) {
      fail("{}: {} expected, {} found", where, what, found);
    };
    const std::string tensor =
        header_.entries.empty() ? "" : "tensor " + header_.entries.back().name;
    switch (place_) {
      case Place::start:
      case Place::end:
        expect("header", "{...}");
        break;
      case Place::top:
        expect(key_ == "__metadata__" ? key_ : "tensor " + key_, "{...}");
        break;
      case Place::metadata:
        expect(base::format("__metadata__: key \"{}\"", key_), "a string");
        break;
      case Place::entry:
        expect(base::format("{}: {}", tensor, key_),
               key_ == "dtype" ? "a string" : "a list of whole numbers");
        break;
      case Place::shape:
        expect(tensor + ": shape", "a whole number from 0 to 2^63 - 1");
        break;
      case Place::offsets:
        expect(tensor + ": data_offsets", "2 whole numbers from 0");
        break;
    }
    base::fail_internal("the safetensors header has no such place");
  }

  const std::string& path_;
  base::Exit exit_;
  SafetensorsHeader header_;
  Place place_ = Place::start;
  std::string key_;
  Seen seen_;
  int offsets_ = 0;
  bool has_metadata_ = false;
};

}  // namespace

int bits_of_safetensors_dtype(std::string_view dtype) {
  static constexpr std::pair<std::string_view, int> table[] = {
      {"F32", 32},    {"BF16", 16},       {"F16", 16},        {"F64", 64},    {"I64", 64},
      {"I32", 32},    {"U8", 8},          {"BOOL", 8},        {"I8", 8},      {"I16", 16},
      {"U16", 16},    {"U32", 32},        {"U64", 64},        {"F8_E5M2", 8}, {"F8_E4M3", 8},
      {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F4", 4},      {"F6_E2M3", 6},
      {"F6_E3M2", 6}, {"C64", 64}};
  for (const auto& [name, bits] : table) {
    if (name == dtype) return bits;
  }
  return 0;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path,
                                           base::Exit exit) {
  // The parser takes a NUL for the end of its input, and skips white space and a byte order mark.
  if (!json.starts_with('{')) base::fail_user(exit, "{}: header does not start with {{", path);
  if (json.find('\0') != std::string_view::npos) {
    base::fail_user(exit, "{}: header is not valid JSON: it holds a NUL byte", path);
  }
  HeaderReader reader(path, exit);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = reader.take();
  std::ranges::sort(header.entries, {}, &TensorEntry::name);
  const auto twice = std::ranges::adjacent_find(header.entries, {}, &TensorEntry::name);
  if (twice != header.entries.end()) {
    base::fail_user(exit, "{}: tensor {} appears twice", path, twice->name);
  }
  return header;
}

}  // namespace host
