// Order of encoding (tokenizers 0.23): added tokens that are not "normalized", then those that are,
// pre-tokenizer, byte-pair encoding, post-processor.
#include "text/tokenizer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pre_tokenize.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace text {

using base::Exit;
using base::fail_user;

namespace {

constexpr uint64_t max_file_bytes = uint64_t{256} << 20;  // the largest published has 33 MB

std::string describe_missing(const std::vector<uint8_t>& bytes) {
  std::string named;
  const auto name = [&](uint8_t byte, std::string_view word) {
    if (!std::ranges::binary_search(bytes, byte)) return;
    if (!named.empty()) named += ", ";
    named += word;
  };
  name(' ', "space");
  name('\n', "newline");
  name('\t', "tab");
  return base::format("{} of the 256 bytes{}{}", bytes.size(), named.empty() ? "" : ", among them ",
                      named);
}

}  // namespace

struct Tokenizer::Cache::State {
  Bpe::Cache words;
  SplitScratch split;
  std::vector<Section> sections, texts;
};

Tokenizer::Cache::Cache() : state_(std::make_unique<State>()) {}
Tokenizer::Cache::~Cache() = default;

struct Tokenizer::State {
  explicit State(const BpeSpec& spec) : model(spec) {}

  Bpe model;
  std::vector<SplitStep> splits;
  std::vector<TokenId> prefix, suffix;
  bool byte_level_decoder = false;

  std::unordered_map<std::string, TokenId> ids;    // model and added; looked up only
  std::vector<std::optional<std::string>> tokens;  // by id
  std::unordered_map<std::string, TokenId> added;  // looked up only
  std::optional<TokenId> last_added;               // the largest of them
  std::unordered_set<TokenId> special;             // looked up only
  AddedTokenMatcher first_matcher, normalized_matcher;
  size_t model_size = 0;

  std::optional<TokenId> bos, eos;
  Ends default_ends;
  bool adds_bos = false, adds_eos = false;  // the post-processor does it
  std::vector<std::string> warnings;
  std::string fingerprint;

  void put(const std::string& token, TokenId id) {
    ids[token] = id;
    const auto index = static_cast<size_t>(id);
    if (index >= tokens.size()) tokens.resize(index + 1);
    tokens[index] = token;
  }
  void add_token(const AddedToken& token, const std::string& where);
  void set_ends(const TokenizerConfig& config);
  void encode_section(std::string_view section, Cache::State& cache,
                      std::vector<TokenId>& out) const;
};

// The library goes by content: a token that the model has keeps its id; a new one gets the next id
// behind the model and all added ones, whatever the file says.
void Tokenizer::State::add_token(const AddedToken& token, const std::string& where) {
  if (token.content.empty() || added.contains(token.content)) return;
  const auto known = ids.find(token.content);
  const auto end_of_model = static_cast<TokenId>(model_size);
  TokenId id = last_added && *last_added >= end_of_model ? *last_added + 1 : end_of_model;
  if (known != ids.end()) id = known->second;
  if (token.id && *token.id != id) {
    warnings.push_back(base::format(
        "{}: added token \"{}\" has id {} in the file, but {} by the rules of the format", where,
        token.content, *token.id, id));
  }
  put(token.content, id);
  added.emplace(token.content, id);
  last_added = std::max(last_added.value_or(0), id);
  if (token.special) special.insert(id);
  (token.normalized ? normalized_matcher : first_matcher).add(token, id);
}

void Tokenizer::State::set_ends(const TokenizerConfig& config) {
  const auto id_of = [&](const std::optional<std::string>& token) -> std::optional<TokenId> {
    const auto found = token ? ids.find(*token) : ids.end();
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  };
  bos = id_of(config.bos_token);
  // One token for both counts as BOS only (reference 5.5).
  if (config.eos_token != config.bos_token) eos = id_of(config.eos_token);
  default_ends = {config.add_bos, config.add_eos};
  const auto is_added = [&](std::optional<TokenId> id) {
    return id && (std::ranges::count(prefix, *id) > 0 || std::ranges::count(suffix, *id) > 0);
  };
  adds_bos = is_added(bos);
  adds_eos = is_added(eos);
}

void Tokenizer::State::encode_section(std::string_view section, Cache::State& cache,
                                      std::vector<TokenId>& out) const {
  while (!section.empty()) {
    const size_t valid = first_invalid_utf8(section).value_or(section.size());
    split_text(section.substr(0, valid), splits, cache.split);
    for (const std::string_view piece : cache.split.pieces) model.encode(piece, cache.words, out);
    section.remove_prefix(valid);
    size_t invalid = 0;
    while (invalid < section.size() && valid_utf8_length(section, invalid) == 0) ++invalid;
    model.encode(section.substr(0, invalid), cache.words, out);
    section.remove_prefix(invalid);
  }
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const std::string& path) {
  const bool is_file = base::file_exists(path) || path.ends_with(".json");
  const std::string folder = is_file ? base::parent_path(path) : path;
  const std::string file = is_file ? path : base::join_path(path, "tokenizer.json");
  if (!base::file_exists(file)) {
    fail_user(Exit::data,
              "tokenizer: {} does not exist; set model.hf_assets_path to a folder with a "
              "tokenizer.json, such as the one that this makes: heddle tokenizer train data/novels "
              "data/tokenizer",
              file);
  }
  const std::string config = base::join_path(folder, "tokenizer_config.json");
  return parse(base::read_file(file, Exit::data, max_file_bytes),
               base::file_exists(config) ? base::read_file(config, Exit::data, max_file_bytes) : "",
               file);
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view config_json,
                           const std::string& where) {
  TokenizerSpec spec = read_tokenizer_json(tokenizer_json, where);
  TokenizerConfig config;
  if (!config_json.empty()) {
    config = read_tokenizer_config(
        config_json, base::join_path(base::parent_path(where), "tokenizer_config.json"));
  }
  auto state = std::make_unique<State>(spec.model);
  for (const auto& [token, id] : spec.model.vocab) state->put(token, id);
  state->model_size = spec.model.vocab.size();
  state->splits = std::move(spec.splits);
  state->prefix = std::move(spec.prefix);
  state->suffix = std::move(spec.suffix);
  state->byte_level_decoder = spec.byte_level_decoder;
  for (const AddedToken& token : spec.added_tokens) state->add_token(token, where);
  for (const AddedToken& token : config.added_tokens) state->add_token(token, where);
  state->set_ends(config);
  const std::vector<uint8_t> missing = state->model.missing_bytes();
  if (!missing.empty()) {
    state->warnings.push_back(base::format(
        "{}: the tokenizer has no symbol for {}; {}", where, describe_missing(missing),
        spec.model.unknown ? "they become the unknown token" : "they are dropped from all text"));
  }
  state->fingerprint =
      base::xxh3_128_hex(base::xxh3_128_hex(tokenizer_json) + base::xxh3_128_hex(config_json));
  return Tokenizer(std::move(state));
}

Tokenizer::Ends Tokenizer::default_ends() const { return state_->default_ends; }

std::vector<TokenId> Tokenizer::encode(std::string_view text, Ends ends) const {
  Cache cache;
  std::vector<TokenId> ids;
  append_encoded(text, ends, cache, ids);
  return ids;
}

void Tokenizer::append_encoded(std::string_view text, Ends ends, Cache& cache,
                               std::vector<TokenId>& out) const {
  const State& s = *state_;
  Cache::State& c = *cache.state_;
  if (ends.bos && s.bos && !s.adds_bos) out.push_back(*s.bos);
  out.insert(out.end(), s.prefix.begin(), s.prefix.end());
  c.sections.clear();
  s.first_matcher.split(text, c.sections);
  for (const Section& section : c.sections) {
    c.texts.clear();
    if (section.id) {
      c.texts.push_back(section);
    } else {
      s.normalized_matcher.split(section.text, c.texts);
    }
    for (const Section& part : c.texts) {
      if (part.id) {
        out.push_back(*part.id);
      } else {
        s.encode_section(part.text, c, out);
      }
    }
  }
  out.insert(out.end(), s.suffix.begin(), s.suffix.end());
  if (ends.eos && s.eos && !s.adds_eos) out.push_back(*s.eos);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  std::string out;
  bool first = true;
  for (const TokenId id : ids) {
    const std::optional<std::string> token = token_of(id);
    if (!token) {
      fail_user(Exit::data, "tokenizer: id {} is not in the vocabulary of {} tokens", id,
                vocab_size());
    }
    if (special == SpecialTokens::skip && state_->special.contains(id)) continue;
    if (state_->byte_level_decoder) {
      out += from_byte_alphabet(*token).value_or(*token);
    } else {
      if (!first) out += ' ';
      out += *token;
    }
    first = false;
  }
  return out;
}

int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(state_->ids.size()); }
TokenId Tokenizer::id_limit() const { return static_cast<TokenId>(state_->tokens.size()); }
std::optional<TokenId> Tokenizer::bos_id() const { return state_->bos; }
std::optional<TokenId> Tokenizer::eos_id() const { return state_->eos; }

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  const auto found = state_->ids.find(std::string(token));
  return found == state_->ids.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Tokenizer::token_of(TokenId id) const {
  if (id < 0 || id >= id_limit()) return std::nullopt;
  return state_->tokens[static_cast<size_t>(id)];
}

const std::vector<std::string>& Tokenizer::warnings() const { return state_->warnings; }
const std::string& Tokenizer::fingerprint() const { return state_->fingerprint; }

}  // namespace text
