// Trains a byte-level byte-pair encoding and writes it as a standard tokenizer.json.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace text {

struct BpeTrainOptions {
  int64_t vocab_size = 2048;  // with the 256 bytes and the two special tokens
  std::string bos_token = "<|begin_of_text|>";
  std::string eos_token = "<|end_of_text|>";
};

struct TrainedTokenizer {
  std::string tokenizer_json, config_json;
  int64_t vocab_size = 0;  // fewer than asked for when the text has no more pairs to merge
};

// Special tokens come first, then the bytes in the order of their alphabet, then the merges. Each
// merge is the most frequent pair of neighbours; of equals the one whose two tokens, as bytes, come
// first. The same documents give the same bytes. Pieces are those of GPT-2's pattern. Fails with
// exit 2 on a vocab_size below 258, with exit 3 on a document that is no UTF-8.
TrainedTokenizer train_bpe(std::span<const std::string_view> documents,
                           const BpeTrainOptions& options);

}  // namespace text
