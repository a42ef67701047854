// Printing and strict reading of checkpoint manifests.
#include "trainer/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "host/safetensors.h"

namespace trainer {

using base::Exit;
using Json = nlohmann::json;

namespace {

constexpr std::string_view format_name = "heddle checkpoint";
constexpr std::string_view hash_line = "\n\"hash\": \"";
constexpr size_t hex_digits = 32;  // of an XXH3-128
constexpr int64_t largest = int64_t{1} << 60;

std::string json_text(std::string_view text) { return Json(text).dump(); }

std::string fields_text(const Fields& fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (out.size() > 1) out += ", ";
    out += json_text(name) + ": " + value;
  }
  return out + "}";
}

std::string shard_text(const Shard& s) {
  return base::format("{{\"file\": {}, \"bytes\": {}, \"head_bytes\": {}, \"head_hash\": \"{}\"}}",
                      json_text(s.file), s.bytes, s.head_bytes, s.head_hash);
}

std::string tensor_text(const StoredTensor& t) {
  return base::format(
      "{{\"shape\": {}, \"dtype\": \"{}\", \"shard\": {}, \"offset\": {}, \"hashes\": {}}}",
      Json(t.shape).dump(), host::safetensors_dtype(t.dtype), t.shard, t.offset,
      Json(t.hashes).dump());
}

// Reads fields of one file's JSON; every error names the file and the field.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    base::fail_user(Exit::checkpoint, "{}: {}", path_, base::format(pattern, args...));
  }

  const Json& member(const Json& object, const char* name) const {
    const auto at = object.find(name);
    if (at == object.end()) fail("\"{}\" expected, not found", name);
    return *at;
  }
  int64_t count(const Json& value, std::string_view name, int64_t limit = largest) const {
    const bool whole = value.is_number_integer() &&
                       !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62);
    if (!whole || value.get<int64_t>() < 0 || value.get<int64_t>() > limit) {
      fail("\"{}\": a whole number from 0 to {} expected, {} found", name, limit, shown(value));
    }
    return value.get<int64_t>();
  }
  int64_t count(const Json& object, const char* name, int64_t limit = largest) const {
    return count(member(object, name), std::string_view(name), limit);
  }
  std::string text(const Json& value, std::string_view name) const {
    if (!value.is_string()) fail("\"{}\": a text expected, {} found", name, shown(value));
    return value.get<std::string>();
  }
  std::string hash(const Json& value, std::string_view name) const {
    const std::string hex = text(value, name);
    if (hex.size() != hex_digits) {
      fail("\"{}\": {} hex digits expected, {} found", name, hex_digits, shown(value));
    }
    return hex;
  }
  Fields fields(const Json& object, const char* name) const {
    const Json& values = member(object, name);
    if (!values.is_object()) fail("\"{}\": an object expected, {} found", name, shown(values));
    Fields out;
    for (const auto& [key, value] : values.items()) {
      // Scalars and lists of them: printing needs no recursion then, however deep a hostile file
      // is.
      const bool flat = !value.is_object() && std::ranges::none_of(value, [](const Json& element) {
        return element.is_structured();
      });
      if (!value.is_primitive() && !flat) fail("{}.{}: a plain value expected", name, key);
      out[key] = dumped(value);
    }
    return out;
  }
  static std::string dumped(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  static std::string shown(const Json& value) {
    if (value.is_structured()) return value.is_array() ? "a list" : "an object";
    const std::string out = dumped(value);
    return out.size() > 60 ? out.substr(0, 60) + "..." : out;
  }

 private:
  const std::string& path_;
};

// The text without its last line, after that line's hash was checked.
std::string_view sealed_body(std::string_view text, const Reader& reader) {
  const size_t at = text.rfind(hash_line);
  if (at == std::string_view::npos) reader.fail("no closing line with a hash: the file is cut off");
  const std::string_view body = text.substr(0, at + 1);
  const std::string hash = base::xxh3_128_hex(body);
  const std::string expected = base::format("\"hash\": \"{}\"}}\n", hash);
  if (text.substr(at + 1) != expected) {
    reader.fail("the hash of its lines is {}, its last line says otherwise: the file is damaged",
                hash);
  }
  return body;
}

Json parse_json(std::string_view text, const Reader& reader) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) reader.fail("a JSON object expected");
  return json;
}

void check_format(const Json& json, const Reader& reader, const std::string& path) {
  if (reader.text(reader.member(json, "format"), "format") != format_name) {
    reader.fail("\"format\" is not \"{}\"", format_name);
  }
  const int64_t version = reader.count(json, "version");
  if (version > manifest_version) {
    throw ForeignCheckpoint(
        Exit::checkpoint,
        base::format("{}: written by a newer heddle: format {} found, this one reads {}; use the "
                     "newer heddle",
                     path, version, manifest_version));
  }
  if (version == 0) reader.fail("\"version\": 1 expected, 0 found");
}

Shard read_shard(const Json& json, const Reader& reader) {
  if (!json.is_object()) reader.fail("\"shards\": objects expected");
  Shard s;
  s.file = reader.text(reader.member(json, "file"), "file");
  // Shards lie in the checkpoint's own folder, whatever the manifest says.
  if (s.file.empty() || s.file.find('/') != std::string::npos || s.file.starts_with('.') ||
      s.file.find('\0') != std::string::npos) {
    reader.fail("\"file\": the plain name of a file expected, {} found", json_text(s.file));
  }
  s.bytes = static_cast<uint64_t>(reader.count(json, "bytes"));
  s.head_bytes = static_cast<uint64_t>(reader.count(json, "head_bytes"));
  s.head_hash = reader.hash(reader.member(json, "head_hash"), "head_hash");
  return s;
}

host::Shape read_shape(const Json& json, const std::string& name, const Reader& reader) {
  const Json& dims = reader.member(json, "shape");
  if (!dims.is_array()) reader.fail("tensor {}: \"shape\": a list expected", name);
  host::Shape shape;
  int64_t product = 8;  // bytes of the widest element
  for (const Json& dim : dims) {
    shape.push_back(reader.count(dim, name + ".shape"));
    const bool fits =
        !__builtin_mul_overflow(product, std::max<int64_t>(shape.back(), 1), &product);
    if (!fits || product > largest) reader.fail("tensor {}: its shape has too many elements", name);
  }
  return shape;
}

StoredTensor read_tensor(const Json& json, const std::string& name, const Manifest& manifest,
                         const Reader& reader) {
  if (!json.is_object()) reader.fail("tensor {}: an object expected", name);
  StoredTensor t;
  t.shape = read_shape(json, name, reader);
  const std::string dtype = reader.text(reader.member(json, "dtype"), name + ".dtype");
  const auto known = host::parse_safetensors_dtype(dtype);
  if (!known) reader.fail("tensor {}: unknown dtype {}", name, json_text(dtype));
  t.dtype = *known;
  if (manifest.shards.empty()) reader.fail("tensor {}: there are no shards", name);
  t.shard = static_cast<size_t>(
      reader.count(json, "shard", static_cast<int64_t>(manifest.shards.size()) - 1));
  t.offset = static_cast<uint64_t>(reader.count(json, "offset"));
  const Json& hashes = reader.member(json, "hashes");
  if (!hashes.is_array()) reader.fail("tensor {}: \"hashes\": a list expected", name);
  const uint64_t blocks = (t.bytes() + manifest.block_bytes - 1) / manifest.block_bytes;
  if (hashes.size() != blocks) {
    reader.fail("tensor {}: {} hashes expected for {} bytes, {} found", name, blocks, t.bytes(),
                hashes.size());
  }
  for (const Json& h : hashes) t.hashes.push_back(reader.hash(h, name + ".hashes"));
  return t;
}

// Head and tensors touch each other from the first byte of a shard to its last, so that no byte of
// a checkpoint is without a hash.
void check_cover(const Manifest& m, const Reader& reader) {
  std::vector<std::vector<std::pair<const StoredTensor*, const std::string*>>> by_shard(
      m.shards.size());
  for (const auto& [name, tensor] : m.tensors) by_shard[tensor.shard].emplace_back(&tensor, &name);
  for (size_t i = 0; i < m.shards.size(); ++i) {
    std::ranges::sort(by_shard[i], [](const auto& a, const auto& b) {
      return std::pair(a.first->offset, a.first->bytes()) <
             std::pair(b.first->offset, b.first->bytes());
    });
    uint64_t at = m.shards[i].head_bytes;
    for (const auto& [tensor, name] : by_shard[i]) {
      if (tensor->offset != at) {
        reader.fail("tensor {}: offset {} expected in {}, {} found", *name, at, m.shards[i].file,
                    tensor->offset);
      }
      at += tensor->bytes();
    }
    if (at != m.shards[i].bytes) {
      reader.fail("{}: {} bytes by its tensors, {} by \"bytes\"", m.shards[i].file, at,
                  m.shards[i].bytes);
    }
  }
}

Contents read_contents(const Json& json, const Reader& reader) {
  const std::string text = reader.text(reader.member(json, "contents"), "contents");
  if (text == "all") return Contents::all;
  if (text != "model") reader.fail("\"contents\": \"all\" or \"model\" expected");
  return Contents::model;
}

Json member_object(const Json& json, const char* name, const Reader& reader) {
  const Json& value = reader.member(json, name);
  if (!value.is_object()) reader.fail("\"{}\": an object expected", name);
  return value;
}

}  // namespace

uint64_t StoredTensor::bytes() const {
  return static_cast<uint64_t>(host::element_count(shape) * base::byte_size(dtype));
}

std::string seal_manifest(std::string body) {
  const std::string hash = base::xxh3_128_hex(body);
  return std::move(body) + base::format("\"hash\": \"{}\"}}\n", hash);
}

std::string to_text(const Manifest& m) {
  std::string out =
      base::format("{{\n\"format\": \"{}\",\n\"version\": {},\n", format_name, manifest_version);
  out += base::format("\"step\": {},\n\"contents\": \"{}\",\n", m.step,
                      m.contents == Contents::all ? "all" : "model");
  out += base::format(
      "\"progress\": {{\"train\": {}, \"optimizer\": {}, \"schedule\": {}, \"data\": {}}},\n",
      m.progress.train, m.progress.optimizer, m.progress.schedule, m.progress.data);
  out +=
      base::format("\"tokens_seen\": {},\n\"model\": {},\n", m.tokens_seen, fields_text(m.model));
  out += base::format("\"settings\": {},\n\"settings_hash\": \"{}\",\n", fields_text(m.settings),
                      fields_hash(m.settings));
  out += base::format("\"block_bytes\": {},\n\"shards\": [", m.block_bytes);
  for (size_t i = 0; i < m.shards.size(); ++i) out += (i ? ",\n" : "\n") + shard_text(m.shards[i]);
  out += "],\n\"tensors\": {";
  bool first = true;
  for (const auto& [name, tensor] : m.tensors) {
    out += (first ? "\n" : ",\n") + json_text(name) + ": " + tensor_text(tensor);
    first = false;
  }
  return seal_manifest(out + "},\n");
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const Reader reader(path);
  sealed_body(text, reader);
  const Json json = parse_json(text, reader);
  check_format(json, reader, path);
  Manifest m;
  m.step = reader.count(json, "step");
  m.contents = read_contents(json, reader);
  const Json progress = member_object(json, "progress", reader);
  m.progress = {reader.count(progress, "train"), reader.count(progress, "optimizer"),
                reader.count(progress, "schedule"), reader.count(progress, "data")};
  m.tokens_seen = reader.count(json, "tokens_seen");
  m.model = reader.fields(json, "model");
  m.settings = reader.fields(json, "settings");
  if (reader.hash(reader.member(json, "settings_hash"), "settings_hash") !=
      fields_hash(m.settings)) {
    reader.fail("\"settings_hash\" is not the hash of \"settings\"");
  }
  m.block_bytes = static_cast<uint64_t>(reader.count(json, "block_bytes"));
  if (m.block_bytes == 0) reader.fail("\"block_bytes\": 1 or more expected, 0 found");
  const Json& shards = reader.member(json, "shards");
  if (!shards.is_array()) reader.fail("\"shards\": a list expected");
  for (const Json& shard : shards) m.shards.push_back(read_shard(shard, reader));
  const Json& tensors = reader.member(json, "tensors");
  if (!tensors.is_object()) reader.fail("\"tensors\": an object expected");
  for (const auto& [name, tensor] : tensors.items()) {
    m.tensors.emplace(name, read_tensor(tensor, name, m, reader));
  }
  check_cover(m, reader);
  return m;
}

Fields model_fields(const config::ModelArgs& a, const std::string& dtype) {
  const config::MoeArgs& e = a.moe_args;
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  const Json json = {{"vocab_size", a.vocab_size},
                     {"dim", a.dim},
                     {"inter_dim", a.inter_dim},
                     {"moe_inter_dim", a.moe_inter_dim},
                     {"n_layers", a.n_layers},
                     {"n_dense_layers", a.n_dense_layers},
                     {"n_heads", a.n_heads},
                     {"norm_eps", a.norm_eps},
                     {"q_lora_rank", a.q_lora_rank},
                     {"kv_lora_rank", a.kv_lora_rank},
                     {"qk_nope_head_dim", a.qk_nope_head_dim},
                     {"qk_rope_head_dim", a.qk_rope_head_dim},
                     {"v_head_dim", a.v_head_dim},
                     {"attn_type", a.attn_type},
                     {"attn_mask_type", a.attn_mask_type},
                     {"original_seq_len", a.original_seq_len},
                     {"rope_theta", a.rope_theta},
                     {"rope_factor", a.rope_factor},
                     {"beta_fast", a.beta_fast},
                     {"beta_slow", a.beta_slow},
                     {"mscale", a.mscale},
                     {"moe_args.num_experts", e.num_experts},
                     {"moe_args.num_shared_experts", e.num_shared_experts},
                     {"moe_args.score_func", e.score_func},
                     {"moe_args.route_norm", e.route_norm},
                     {"moe_args.route_scale", e.route_scale},
                     {"moe_args.score_before_experts", e.score_before_experts},
                     {"moe_args.top_k", e.top_k},
                     {"moe_args.num_expert_groups", or_null(e.num_expert_groups)},
                     {"moe_args.num_limited_groups", or_null(e.num_limited_groups)},
                     {"moe_args.balances", e.load_balance_coeff.has_value()},
                     {"dtype", dtype}};
  Fields out;
  for (const auto& [name, value] : json.items()) out[name] = value.dump();
  return out;
}

Fields settings_fields(const std::string& settings_json) {
  const Json json = Json::parse(settings_json);
  Fields out;
  // What of [model] is not in `model_fields` and still steers numbers.
  const auto counts = [](const std::string& name) {
    return !name.starts_with("model.") || name == "model.hf_assets_path" ||
           name == "model.args.moe_args.use_grouped_mm" ||
           name == "model.args.moe_args.load_balance_coeff";
  };
  const auto add = [&](auto&& self, const std::string& name, const Json& value) -> void {
    if (value.is_object()) {
      for (const auto& [inner, v] : value.items()) self(self, name + "." + inner, v);
    } else if (counts(name)) {
      out[name] = Reader::dumped(value);
    }
  };
  for (const char* section : {"model", "optimizer", "lr_scheduler", "training"}) {
    if (json.contains(section)) add(add, section, json[section]);
  }
  if (json.contains("debug") && json["debug"].contains("seed")) {
    add(add, "debug.seed", json["debug"]["seed"]);
  }
  return out;
}

std::string fields_hash(const Fields& fields) {
  std::string lines;
  for (const auto& [name, value] : fields) lines += name + " = " + value + "\n";
  return base::xxh3_128_hex(lines);
}

std::vector<std::string> differences(const Fields& stored, const Fields& here) {
  std::vector<std::string> out;
  for (const auto& [name, value] : here) {
    const auto at = stored.find(name);
    const std::string_view old = at == stored.end() ? std::string_view("not there") : at->second;
    if (old != value) {
      out.push_back(base::format("{}: {} in the checkpoint, {} here", name, old, value));
    }
  }
  for (const auto& [name, value] : stored) {
    if (!here.contains(name)) {
      out.push_back(base::format("{}: {} in the checkpoint, not there here", name, value));
    }
  }
  return out;
}

}  // namespace trainer
