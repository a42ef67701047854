// Counts pairs once, then keeps the counts up to date with each merge: only words that hold the
// merged pair are looked at again.
#include "text/bpe_train.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "text/bpe.h"
#include "text/json.h"
#include "text/pre_tokenize.h"
#include "text/unicode.h"

namespace text {
namespace {

using base::Exit;
using base::fail_user;

constexpr int64_t special_count = 2;
constexpr int64_t byte_count = 256;
constexpr int64_t min_count = 2;  // a pair seen once is no pattern

struct Word {
  std::vector<TokenId> symbols;  // indices into `tokens` of the trainer
  int64_t count;
};

struct Pair {
  TokenId left, right;
  bool operator==(const Pair&) const = default;
};

struct PairHash {
  size_t operator()(Pair p) const {
    return (static_cast<uint64_t>(static_cast<uint32_t>(p.left)) << 32 |
            static_cast<uint32_t>(p.right)) *
           0x9e3779b97f4a7c15u;
  }
};

class Trainer {
 public:
  explicit Trainer(std::span<const std::string_view> documents) {
    for (int byte = 0; byte < 256; ++byte) token_of(std::string(1, static_cast<char>(byte)));
    count_words(documents);
    for (size_t i = 0; i < words_.size(); ++i) count_pairs(i);
    for (const auto& [pair, entry] : pairs_) offer(pair, entry.count);
  }

  // The next merge, or none when no pair is left that occurs twice.
  std::optional<Pair> step() {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      const auto found = pairs_.find(top.pair);
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count == top.count) {
        if (count < min_count) return std::nullopt;
        merge(top.pair);
        return top.pair;
      }
      if (count > 0 && count < top.count) offer(top.pair, count);  // it fell since
    }
    return std::nullopt;
  }

  const std::string& bytes(TokenId token) const { return tokens_[static_cast<size_t>(token)]; }

 private:
  struct PairEntry {
    int64_t count = 0;
    std::vector<uint32_t> words;  // that may hold it; one word may stand here twice
  };
  struct Candidate {
    int64_t count;
    Pair pair;
  };
  struct Worse {
    const Trainer* trainer;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.count != b.count) return a.count < b.count;
      const int left = trainer->bytes(a.pair.left).compare(trainer->bytes(b.pair.left));
      if (left != 0) return left > 0;
      return trainer->bytes(a.pair.right).compare(trainer->bytes(b.pair.right)) > 0;
    }
  };

  void count_words(std::span<const std::string_view> documents) {
    std::unordered_map<std::string_view, int64_t> counts;
    for (const std::string_view document : documents) {
      for (size_t at = 0; at < document.size();) {
        const size_t end = gpt2_piece_end(document, at);
        ++counts[document.substr(at, end - at)];
        at = end;
      }
    }
    for (const auto& [piece, count] : counts) {
      Word word{{}, count};
      for (const char c : piece) word.symbols.push_back(static_cast<unsigned char>(c));
      words_.push_back(std::move(word));
    }
    // An order of our own: the lists of words per pair must not follow the hash table's.
    std::ranges::sort(words_, {}, &Word::symbols);
  }

  void count_pairs(size_t word) {
    const Word& w = words_[word];
    for (size_t i = 0; i + 1 < w.symbols.size(); ++i) {
      change({w.symbols[i], w.symbols[i + 1]}, w.count, word);
    }
  }

  void change(Pair pair, int64_t by, size_t word) {
    PairEntry& entry = pairs_[pair];
    entry.count += by;
    if (by > 0 && (entry.words.empty() || entry.words.back() != word)) {
      entry.words.push_back(static_cast<uint32_t>(word));
    }
  }

  // Two merges may give the same bytes: ab+c and a+bc.
  TokenId token_of(std::string bytes) {
    const auto [entry, is_new] = ids_.emplace(bytes, static_cast<TokenId>(tokens_.size()));
    if (is_new) tokens_.push_back(std::move(bytes));
    return entry->second;
  }

  void offer(Pair pair, int64_t count) { heap_.push({count, pair}); }

  void merge(Pair pair) {
    const TokenId merged = token_of(bytes(pair.left) + bytes(pair.right));
    const std::vector<uint32_t> holders = std::move(pairs_[pair].words);
    grown_.clear();
    for (const uint32_t word : holders) merge_in_word(pair, merged, word);
    pairs_.erase(pair);
    for (const Pair grown : grown_) {
      const auto found = pairs_.find(grown);
      if (found != pairs_.end() && found->second.count > 0) offer(grown, found->second.count);
    }
  }

  void merge_in_word(Pair pair, TokenId merged, size_t index) {
    Word& word = words_[index];
    std::vector<TokenId>& s = word.symbols;
    size_t out = 0;
    for (size_t i = 0; i < s.size(); ++i, ++out) {
      const bool here = i + 1 < s.size() && s[i] == pair.left && s[i + 1] == pair.right;
      if (!here) {
        s[out] = s[i];
        continue;
      }
      if (out > 0) {
        change({s[out - 1], pair.left}, -word.count, index);
        grow({s[out - 1], merged}, word.count, index);
      }
      if (i + 2 < s.size()) {
        change({pair.right, s[i + 2]}, -word.count, index);
        grow({merged, s[i + 2]}, word.count, index);
      }
      s[out] = merged;
      ++i;
    }
    s.resize(out);
  }

  void grow(Pair pair, int64_t by, size_t word) {
    change(pair, by, word);
    grown_.push_back(pair);
  }

  std::vector<std::string> tokens_;  // as bytes
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairEntry, PairHash> pairs_;
  std::priority_queue<Candidate, std::vector<Candidate>, Worse> heap_{Worse{this}};
  std::vector<Pair> grown_;
};

std::string added_token_json(std::string_view token, int64_t id) {
  return base::format(
      "    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, "
      "\"rstrip\": false, \"normalized\": false, \"special\": true}}",
      id, json_quote(token));
}

std::string tokenizer_json(const BpeTrainOptions& options, const std::vector<std::string>& tokens,
                           const std::vector<std::pair<std::string, std::string>>& merges) {
  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  out +=
      base::format("  \"added_tokens\": [\n{},\n{}\n  ],\n", added_token_json(options.bos_token, 0),
                   added_token_json(options.eos_token, 1));
  const std::string_view byte_level =
      "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
      "\"use_regex\": true}";
  out += base::format(
      "  \"normalizer\": null,\n  \"pre_tokenizer\": {},\n  \"post_processor\": {},\n"
      "  \"decoder\": {},\n",
      byte_level, byte_level, byte_level);
  out +=
      "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n"
      "    \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n"
      "    \"vocab\": {\n";
  for (size_t i = 0; i < tokens.size(); ++i) {
    out += base::format("      {}: {}{}\n", json_quote(tokens[i]), i,
                        i + 1 < tokens.size() ? "," : "");
  }
  out += "    },\n    \"merges\": [\n";
  for (size_t i = 0; i < merges.size(); ++i) {
    out += base::format("      [{}, {}]{}\n", json_quote(merges[i].first),
                        json_quote(merges[i].second), i + 1 < merges.size() ? "," : "");
  }
  return out + "    ]\n  }\n}\n";
}

}  // namespace

TrainedTokenizer train_bpe(std::span<const std::string_view> documents,
                           const BpeTrainOptions& options) {
  if (options.vocab_size < special_count + byte_count || options.vocab_size > 1 << 20) {
    fail_user(
        Exit::config,
        "tokenizer train: vocab_size is {}; expected {} (two special tokens and the bytes) to "
        "{}",
        options.vocab_size, special_count + byte_count, 1 << 20);
  }
  for (size_t i = 0; i < documents.size(); ++i) {
    if (const std::optional<size_t> bad = first_invalid_utf8(documents[i])) {
      fail_user(Exit::data, "tokenizer train: document {} is not UTF-8 at byte {}", i, *bad);
    }
  }
  std::vector<std::string> tokens{options.bos_token, options.eos_token};
  std::vector<std::pair<uint32_t, int>> bytes;  // code point, byte
  for (int b = 0; b < 256; ++b) bytes.emplace_back(byte_alphabet()[static_cast<size_t>(b)], b);
  std::ranges::sort(bytes);
  for (const auto& [code_point, byte] : bytes) append_utf8(tokens.emplace_back(), code_point);

  Trainer trainer(documents);
  std::vector<std::pair<std::string, std::string>> merges;
  std::unordered_set<std::string> known(tokens.begin(), tokens.end());
  while (static_cast<int64_t>(tokens.size()) < options.vocab_size) {
    const std::optional<Pair> pair = trainer.step();
    if (!pair) break;
    merges.emplace_back(to_byte_alphabet(trainer.bytes(pair->left)),
                        to_byte_alphabet(trainer.bytes(pair->right)));
    std::string token = merges.back().first + merges.back().second;
    if (known.insert(token).second) tokens.push_back(std::move(token));
  }
  TrainedTokenizer trained;
  trained.vocab_size = static_cast<int64_t>(tokens.size());
  trained.tokenizer_json = tokenizer_json(options, tokens, merges);
  trained.config_json = base::format(
      "{{\n  \"add_bos_token\": false,\n  \"add_eos_token\": false,\n  \"bos_token\": {},\n"
      "  \"eos_token\": {},\n  \"clean_up_tokenization_spaces\": false,\n"
      "  \"model_max_length\": 1000000000,\n"
      "  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}}\n",
      json_quote(options.bos_token), json_quote(options.eos_token));
  return trained;
}

}  // namespace text
