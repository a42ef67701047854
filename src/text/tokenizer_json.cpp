// Formats: Hugging Face tokenizers 0.23's tokenizer.json; `where` and a path such as
// model.merges[3] stand in every error.
#include "text/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "text/json.h"

namespace text {
namespace {

using base::Exit;
using base::fail_user;
using Kind = JsonValue::Kind;

constexpr TokenId max_id = (1 << 22) - 1;  // the largest published vocabularies have 2^18

// A value with the path that leads to it, for errors.
struct Field {
  const JsonValue* value;  // null: absent
  std::string path;

  bool present() const { return value && !value->is(Kind::null); }
  Field operator[](const std::string& key) const {
    return {value ? value->find(key) : nullptr, path.empty() ? key : path + "." + key};
  }
  Field operator[](size_t i) const { return {&value->items[i], base::format("{}[{}]", path, i)}; }
};

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  template <class... Args>
  [[noreturn]] void fail(const Field& field, std::string_view pattern, const Args&... args) const {
    fail_user(Exit::data, "{}: {}: {}", where_, field.path.empty() ? "the file" : field.path,
              base::format(pattern, args...));
  }
  [[noreturn]] void unsupported(const Field& field, std::string_view what) const {
    fail_user(Exit::data,
              "{}: {}: {} is not supported; supported are byte-pair encodings with ByteLevel and "
              "Split pre-tokenizers, added tokens, ByteLevel decoders, template post-processors",
              where_, field.path, what);
  }
  const JsonValue& expect(const Field& field, Kind kind) const {
    if (!field.value) fail(field, "missing, expected {}", to_text(kind));
    if (!field.value->is(kind)) {
      fail(field, "expected {}, found {}", to_text(kind), to_text(field.value->kind));
    }
    return *field.value;
  }
  const std::string& text(const Field& field) const { return expect(field, Kind::text).text; }
  bool off_by_default(const Field& field) const {
    return field.present() && expect(field, Kind::boolean).boolean;
  }
  bool on_by_default(const Field& field) const {
    return !field.present() || expect(field, Kind::boolean).boolean;
  }
  TokenId id(const Field& field) const {
    const int64_t value = expect(field, Kind::integer).integer;
    if (value < 0 || value > max_id) {
      fail(field, "id {} is outside 0 to {}", value, int64_t{max_id});
    }
    return static_cast<TokenId>(value);
  }

  TokenizerSpec tokenizer(const Field& root) const;
  TokenizerConfig config(const Field& root) const;

 private:
  using Ids = std::unordered_map<std::string_view, TokenId>;

  BpeSpec model(const Field& field) const;
  void vocab(const Field& field, BpeSpec& spec) const;
  void merges(const Field& field, const Ids& ids, BpeSpec& spec) const;
  AddedToken added_token(const Field& field) const;
  void normalizer(const Field& field) const;
  void pre_tokenizer(const Field& field, TokenizerSpec& spec) const;
  SplitStep split_step(const Field& field) const;
  void post_processor(const Field& field, TokenizerSpec& spec) const;
  void template_tokens(const Field& field, TokenizerSpec& spec) const;
  bool byte_level_decoder(const Field& field) const;
  std::optional<std::string> config_token(const Field& field) const;

  std::string where_;
};

TokenizerSpec Reader::tokenizer(const Field& root) const {
  expect(root, Kind::object);
  if (root["truncation"].present()) unsupported(root["truncation"], "truncation");
  if (root["padding"].present()) unsupported(root["padding"], "padding");
  TokenizerSpec spec;
  normalizer(root["normalizer"]);
  pre_tokenizer(root["pre_tokenizer"], spec);
  const bool byte_level = spec.model.byte_level;
  spec.model = model(root["model"]);
  spec.model.byte_level = byte_level;
  const Field added = root["added_tokens"];
  if (added.present()) {
    for (size_t i = 0; i < expect(added, Kind::array).items.size(); ++i) {
      spec.added_tokens.push_back(added_token(added[i]));
      spec.added_tokens.back().id = id(added[i]["id"]);
    }
  }
  post_processor(root["post_processor"], spec);
  spec.byte_level_decoder = byte_level_decoder(root["decoder"]);
  return spec;
}

BpeSpec Reader::model(const Field& field) const {
  expect(field, Kind::object);
  // Old files have no type; only byte-pair encodings have merges.
  if (field["type"].present() && text(field["type"]) != "BPE") {
    unsupported(field["type"], base::format("model {}", json_quote(text(field["type"]))));
  }
  const JsonValue* dropout = field["dropout"].value;
  const bool no_dropout = !field["dropout"].present() ||
                          (dropout->is(Kind::real) && dropout->real == 0) ||
                          (dropout->is(Kind::integer) && dropout->integer == 0);
  if (!no_dropout) unsupported(field["dropout"], "dropout of merges");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (field[key].present() && !text(field[key]).empty()) unsupported(field[key], key);
  }
  if (off_by_default(field["byte_fallback"])) unsupported(field["byte_fallback"], "byte fallback");

  BpeSpec spec;
  vocab(field["vocab"], spec);
  Ids ids;
  ids.reserve(spec.vocab.size());
  for (const auto& [token, id] : spec.vocab) ids.emplace(token, id);
  merges(field["merges"], ids, spec);
  if (field["unk_token"].present()) {
    const auto found = ids.find(text(field["unk_token"]));
    if (found == ids.end()) {
      fail(field["unk_token"], "{} is not in the vocabulary", json_quote(text(field["unk_token"])));
    }
    spec.unknown = found->second;
  }
  spec.fuse_unknown = off_by_default(field["fuse_unk"]);
  spec.ignore_merges = off_by_default(field["ignore_merges"]);
  return spec;
}

void Reader::vocab(const Field& field, BpeSpec& spec) const {
  std::unordered_map<TokenId, std::string_view> seen;
  for (const auto& [token, value] : expect(field, Kind::object).members) {
    const TokenId number = id({&value, base::format("{}[{}]", field.path, json_quote(token))});
    const auto [other, is_new] = seen.emplace(number, token);
    if (!is_new) {
      fail(field, "id {} belongs to {} and to {}", number, json_quote(other->second),
           json_quote(token));
    }
    spec.vocab.emplace_back(token, number);
  }
}

void Reader::merges(const Field& field, const Ids& ids, BpeSpec& spec) const {
  const auto& items = expect(field, Kind::array).items;
  const auto id_in_vocab = [&](size_t i, std::string_view token) {
    const auto found = ids.find(token);
    if (found == ids.end()) fail(field[i], "{} is not in the vocabulary", json_quote(token));
    return found->second;
  };
  for (size_t i = 0; i < items.size(); ++i) {
    std::string left, right;
    if (items[i].is(Kind::text)) {
      const std::string& pair = items[i].text;
      const size_t space = pair.find(' ');
      if (space == std::string::npos || pair.find(' ', space + 1) != std::string::npos) {
        fail(field[i], "expected two tokens with a space between, found {}", json_quote(pair));
      }
      left = pair.substr(0, space);
      right = pair.substr(space + 1);
    } else if (items[i].is(Kind::array) && items[i].items.size() == 2) {
      left = text(field[i][0]);
      right = text(field[i][1]);
    } else {
      fail(field[i], "expected [left, right] or \"left right\", found {}", to_text(items[i].kind));
    }
    spec.merges.emplace_back(id_in_vocab(i, left), id_in_vocab(i, right));
    spec.merged.push_back(id_in_vocab(i, left + right));
  }
}

AddedToken Reader::added_token(const Field& field) const {
  expect(field, Kind::object);
  if (off_by_default(field["single_word"])) unsupported(field["single_word"], "single_word");
  return {.content = text(field["content"]),
          .lstrip = off_by_default(field["lstrip"]),
          .rstrip = off_by_default(field["rstrip"]),
          .normalized = on_by_default(field["normalized"]),
          .special = on_by_default(field["special"])};
}

void Reader::normalizer(const Field& field) const {
  if (!field.present()) return;
  expect(field, Kind::object);
  const std::string& type = text(field["type"]);
  if (type != "Sequence") unsupported(field, base::format("normalizer {}", json_quote(type)));
  const Field parts = field["normalizers"];
  for (size_t i = 0; i < expect(parts, Kind::array).items.size(); ++i) normalizer(parts[i]);
}

void Reader::pre_tokenizer(const Field& field, TokenizerSpec& spec) const {
  if (!field.present()) return;
  expect(field, Kind::object);
  const std::string& type = text(field["type"]);
  // ByteLevel changes the characters that a later step would look at.
  if (spec.model.byte_level) unsupported(field, "a pre-tokenizer behind ByteLevel");
  if (type == "Sequence") {
    const Field parts = field["pretokenizers"];
    for (size_t i = 0; i < expect(parts, Kind::array).items.size(); ++i) {
      pre_tokenizer(parts[i], spec);
    }
  } else if (type == "ByteLevel") {
    spec.splits.push_back({.gpt2_pattern = on_by_default(field["use_regex"]),
                           .add_prefix_space = on_by_default(field["add_prefix_space"])});
    spec.model.byte_level = true;
  } else if (type == "Split") {
    spec.splits.push_back(split_step(field));
  } else {
    unsupported(field, base::format("pre-tokenizer {}", json_quote(type)));
  }
}

SplitStep Reader::split_step(const Field& field) const {
  const std::pair<std::string_view, SplitBehavior> behaviors[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  SplitStep step;
  const std::string& behavior = text(field["behavior"]);
  const auto found = std::ranges::find(behaviors, behavior, [](const auto& b) { return b.first; });
  if (found == std::end(behaviors)) {
    unsupported(field["behavior"], base::format("behavior {}", json_quote(behavior)));
  }
  step.behavior = found->second;
  step.invert = off_by_default(field["invert"]);
  const Field pattern = field["pattern"];
  expect(pattern, Kind::object);
  if (pattern["Regex"].value) {
    step.pattern = Pattern::regex(text(pattern["Regex"]),
                                  base::format("{}: {}", where_, pattern["Regex"].path));
  } else {
    step.pattern = Pattern::literal(text(pattern["String"]));
  }
  return step;
}

void Reader::post_processor(const Field& field, TokenizerSpec& spec) const {
  if (!field.present()) return;
  expect(field, Kind::object);
  const std::string& type = text(field["type"]);
  if (type == "ByteLevel") return;  // moves offsets only
  if (type == "TemplateProcessing") {
    template_tokens(field, spec);
  } else if (type == "Sequence") {
    const Field parts = field["processors"];
    for (size_t i = 0; i < expect(parts, Kind::array).items.size(); ++i) {
      post_processor(parts[i], spec);
    }
  } else {
    unsupported(field, base::format("post-processor {}", json_quote(type)));
  }
}

void Reader::template_tokens(const Field& field, TokenizerSpec& spec) const {
  const Field parts = field["single"];
  if (!spec.prefix.empty() || !spec.suffix.empty()) unsupported(field, "a second template");
  bool seen_text = false;
  for (size_t i = 0; i < expect(parts, Kind::array).items.size(); ++i) {
    expect(parts[i], Kind::object);
    const Field special = parts[i]["SpecialToken"];
    if (special.value) {
      const std::string& name = text(special["id"]);
      const Field ids = field["special_tokens"][name]["ids"];
      for (size_t k = 0; k < expect(ids, Kind::array).items.size(); ++k) {
        (seen_text ? spec.suffix : spec.prefix).push_back(id(ids[k]));
      }
      continue;
    }
    if (text(parts[i]["Sequence"]["id"]) != "A" || seen_text) {
      unsupported(parts[i], "a template for one text that is not specials, text, specials");
    }
    seen_text = true;
  }
  if (!seen_text) unsupported(parts, "a template without the text");
}

bool Reader::byte_level_decoder(const Field& field) const {
  if (!field.present()) return false;
  expect(field, Kind::object);
  const std::string& type = text(field["type"]);
  if (type == "ByteLevel") return true;
  const Field parts = field["decoders"];
  if (type == "Sequence" && expect(parts, Kind::array).items.size() == 1) {
    return byte_level_decoder(parts[0]);
  }
  unsupported(field, base::format("decoder {}", json_quote(type)));
}

std::optional<std::string> Reader::config_token(const Field& field) const {
  if (!field.present()) return std::nullopt;
  if (field.value->is(Kind::object)) return text(field["content"]);
  return text(field);
}

// Tokens are added by content, the seven standard ones first (reference 5.5), so ids that the file
// gives its added_tokens_decoder do not count.
TokenizerConfig Reader::config(const Field& root) const {
  expect(root, Kind::object);
  TokenizerConfig config;
  config.bos_token = config_token(root["bos_token"]);
  config.eos_token = config_token(root["eos_token"]);
  config.add_bos = off_by_default(root["add_bos_token"]);
  config.add_eos = off_by_default(root["add_eos_token"]);
  for (const char* key : {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token",
                          "cls_token", "mask_token"}) {
    const std::optional<std::string> token = config_token(root[key]);
    if (!token) continue;
    if (root[key].value->is(Kind::object)) {
      config.added_tokens.push_back(added_token(root[key]));
    } else {
      config.added_tokens.push_back({.content = *token, .special = true});
    }
  }
  const Field decoder = root["added_tokens_decoder"];
  if (!decoder.present()) return config;
  for (const auto& [number, token] : expect(decoder, Kind::object).members) {
    const Field field{&token, base::format("{}[{}]", decoder.path, json_quote(number))};
    if (field.value->is(Kind::object) && field["content"].value) {
      config.added_tokens.push_back(added_token(field));
    }
  }
  return config;
}

}  // namespace

TokenizerSpec read_tokenizer_json(std::string_view json, const std::string& where) {
  const JsonValue root = parse_json(json, where);
  return Reader(where).tokenizer({&root, ""});
}

TokenizerConfig read_tokenizer_config(std::string_view json, const std::string& where) {
  const JsonValue root = parse_json(json, where);
  return Reader(where).config({&root, ""});
}

}  // namespace text
