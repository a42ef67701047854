// Tokenizers: a Hugging Face tokenizer.json (byte-pair encoding) read, checked and run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace text {

using TokenId = int32_t;

class Tokenizer {
 public:
  // A folder with tokenizer.json and, if there, tokenizer_config.json; or one tokenizer.json.
  // Fails with exit 3 on what is missing, malformed, or not supported; nothing is skipped.
  static Tokenizer load(const std::string& path);
  // From the texts of the two files; an empty `config_json` means that there is none. Errors name
  // `where`.
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view config_json,
                         const std::string& where);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Whether to put BOS before and EOS behind. Neither is doubled where the file's post-processor
  // puts it, and one that the tokenizer does not have is left out (reference 5.5).
  struct Ends {
    bool bos = false;
    bool eos = false;
  };
  Ends default_ends() const;  // add_bos_token and add_eos_token of tokenizer_config.json

  // Remembers words across calls of one tokenizer; one per thread.
  class Cache {
   public:
    Cache();
    ~Cache();

   private:
    friend class Tokenizer;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Any bytes: runs that are no UTF-8 become pieces of their own, byte by byte.
  std::vector<TokenId> encode(std::string_view text, Ends ends) const;
  std::vector<TokenId> encode(std::string_view text) const { return encode(text, default_ends()); }
  void append_encoded(std::string_view text, Ends ends, Cache& cache,
                      std::vector<TokenId>& out) const;

  enum class SpecialTokens : uint8_t { keep, skip };
  // The bytes that the ids stand for; a cut may fall inside a character. An id outside the
  // vocabulary fails with exit 3.
  std::string decode(std::span<const TokenId> ids,
                     SpecialTokens special = SpecialTokens::keep) const;

  int64_t vocab_size() const;  // tokens, added ones included
  TokenId id_limit() const;    // largest id + 1: what an embedding must cover
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> eos_id() const;
  std::optional<TokenId> id_of(std::string_view token) const;  // the token as the file spells it
  std::optional<std::string> token_of(TokenId id) const;

  const std::vector<std::string>& warnings() const;  // such as "drops spaces and newlines"
  const std::string& fingerprint() const;            // hash of what decides the ids

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace text
