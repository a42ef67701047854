// Made text with a known best loss: small tasks, each document tagged with its task.
#pragma once

#include <cstdint>

#include "text/corpus.h"

namespace text {

// Tokens are bytes; BOS and EOS follow them. No tokenizer is needed.
constexpr TokenId synthetic_bos = 256;
constexpr TokenId synthetic_eos = 257;
constexpr TokenId synthetic_vocab = 258;

struct SyntheticCorpus {
  Corpus corpus;
  double best_loss = 0;  // nats a token, of a model that knows the tasks and sees whole documents
};

// At least `tokens` tokens of whole documents from the seed. Each document is BOS, a letter for the
// task (all equally likely), the task's text, EOS:
//   C copy      "Cqwert>qwert"     4 to 12 random letters (each length equally likely), then the
//   same R reverse   "Rqwert>trewq"     the same, backwards A addition  "A123+456=579"     two
//   numbers of three digits, and their sum without leading zeros B brackets  "B([]){}..."       8
//   pairs of three kinds, nested and closed in order 1 to 4      Markov text        64 letters of a
//   chain over a to p with 4 successors each, one
//                                  chain a domain, so that what follows depends on the tag
SyntheticCorpus make_synthetic(uint64_t seed, DataSplit split, int64_t tokens);

}  // namespace text
