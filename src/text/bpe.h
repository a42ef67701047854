// Byte-pair encoding of one piece: merges of neighbouring symbols, lowest rank first. Sennrich,
// Haddow and Birch, "Neural machine translation of rare words with subword units", ACL 2016.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace text {

using TokenId = int32_t;

// ByteLevel's alphabet: the code point that stands for each byte. Printable Latin-1 stands for
// itself, the other 68 bytes for U+0100 upward, in order.
const std::array<uint32_t, 256>& byte_alphabet();
// `bytes` in that alphabet, as UTF-8.
std::string to_byte_alphabet(std::string_view bytes);
// The bytes that `token` stands for; none when it holds a character outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view token);

struct BpeSpec {
  std::vector<std::pair<std::string, TokenId>> vocab;  // each token once, each id once
  std::vector<std::pair<TokenId, TokenId>> merges;     // by rank
  std::vector<TokenId> merged;                         // what each becomes
  std::optional<TokenId> unknown;                      // for symbols outside the vocabulary
  bool fuse_unknown = false;                           // one id for a run of them
  bool ignore_merges = false;                          // a piece that is a token is that token
  bool byte_level = false;                             // symbols are bytes, not code points
};

class Bpe {
 public:
  explicit Bpe(const BpeSpec& spec);
  ~Bpe();
  Bpe(Bpe&&) noexcept;
  Bpe& operator=(Bpe&&) noexcept;

  // Remembers pieces across calls; one per thread and model. Bounded: late pieces are not kept.
  class Cache {
   public:
    Cache();
    ~Cache();

   private:
    friend class Bpe;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Appends the ids of `piece`. O(n log n) in its length. Bytes that are no UTF-8 are no symbols of
  // a model of code points; they are dropped or unknown, one each.
  void encode(std::string_view piece, Cache& cache, std::vector<TokenId>& out) const;

  // The bytes for which a byte-level model has no symbol: it drops them, or calls them unknown.
  std::vector<uint8_t> missing_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace text
