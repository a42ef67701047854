// Batches for training: rows of packed documents in an order that depends on seed and step only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/tensor.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

namespace text {

constexpr int64_t ignored_label = -100;  // the reference's ignore_index

struct LoaderOptions {
  std::string dataset;                      // training.dataset
  std::optional<std::string> dataset_path;  // training.dataset_path
  std::string tokenizer_path;               // model.hf_assets_path; unused where none is needed
  std::string cache_folder;                 // for tokens; empty: none
  DataSplit split = DataSplit::train;
  int64_t seq_len = 0;
  int64_t local_batch_size = 0;  // rows of one rank in one micro-batch
  int64_t micro_batches = 1;     // of a step
  int64_t data_ranks = 1;
  int64_t data_rank = 0;   // the rank that asks
  int64_t steps = 0;       // that will be asked for; 0: unknown
  int64_t vocab_size = 0;  // of the model; every token must be below it; 0: not checked
  uint64_t seed = 0;
  bool mask_document_labels = false;  // no label crosses into the next document
};

struct Batch {
  host::Tensor tokens;     // i64[B,S]
  host::Tensor labels;     // i64[B,S], ignored_label where masked
  host::Tensor documents;  // i64[B,S]: which document of its row a token is of, counted from 0
};

struct DataFacts {
  std::string description;  // "novels, 1.16M tokens, 4,512 rows"
  int64_t tokens = 0;
  int64_t rows = 0;                 // of an epoch
  int64_t steps_per_epoch = 0;      // whole ones
  double unigram_entropy = 0;       // nats: what a model that knows only frequencies loses
  std::optional<double> best_loss;  // nats, where known (synthetic)
  std::optional<TokenId> eos_id;
  std::vector<std::string> warnings;  // to be shown once
};

class Loader {
 public:
  virtual ~Loader() = default;
  // The rank's rows of micro-batch `micro` (from 0) of step `step` (from 1, as in the log). Any
  // step at any time: a resumed run just asks for its next one.
  virtual Batch batch(int64_t step, int64_t micro) const = 0;
  // Labels that count, over all micro-batches and ranks of the step.
  virtual int64_t valid_tokens(int64_t step) const = 0;

  const DataFacts& facts() const { return facts_; }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }  // null: the data needs none

 protected:
  DataFacts facts_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

// Fails with exit 3 on data or a tokenizer that is missing, malformed, too small for one batch, or
// does not fit the model's vocabulary.
std::unique_ptr<Loader> open_loader(const LoaderOptions& options);

// The place in [0, count) of item `index` of epoch `epoch`: a permutation, by random access.
int64_t shuffled_place(int64_t index, int64_t count, uint64_t seed, uint64_t epoch);

}  // namespace text
