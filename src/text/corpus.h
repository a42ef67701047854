// Tokenised documents in a row, held in memory or mapped from a cache file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/dataset.h"
#include "text/tokenizer.h"

namespace text {

struct Corpus {
  std::span<const TokenId> tokens;
  std::span<const int64_t> document_ends;  // ascending; the last is tokens.size()
  std::shared_ptr<const void> owner;       // shared: views of one memory or file
};

Corpus make_corpus(std::vector<TokenId> tokens, std::vector<int64_t> document_ends);

// Each document with BOS and EOS, as far as the tokenizer has them. `cache_folder` (empty: none)
// keeps the result under the hash of texts and tokenizer, with a checksum; a damaged file is made
// anew, and a folder that cannot be written is no error.
Corpus tokenize(std::span<const Document> documents, const Tokenizer& tokenizer,
                const std::string& cache_folder);

// Entropy of the token frequencies in nats: the loss of a model that knows nothing else.
double unigram_entropy(std::span<const TokenId> tokens);

}  // namespace text
