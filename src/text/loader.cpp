// Documents lie end to end; row i of the corpus is the i-th run of seq_len + 1 tokens, as the
// reference cuts them (reference 5.4). What is left behind the last row is not used.
#include "text/loader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "text/batches.h"
#include "text/corpus.h"
#include "text/synthetic.h"

namespace text {
namespace {

using base::DType;
using base::Exit;
using base::fail_user;

// Enough that a debug run of some hundred steps sees no row twice: 4 MiB of tokens.
constexpr int64_t synthetic_tokens = 1 << 20;

std::string count_text(int64_t count) {  // "0.95M"
  if (count < 100000) return base::with_commas(static_cast<uint64_t>(count));
  return base::format("{:.2f}M", static_cast<double>(count) * 1e-6);
}

class PackedLoader : public Loader {
 public:
  PackedLoader(const LoaderOptions& options, const Dataset& dataset) : options_(options) {
    file_order_first_epoch_ = dataset.file_order_first_epoch;
    if (dataset.kind == Dataset::Kind::synthetic) {
      make_text();
    } else {
      read_text(dataset);
    }
    row_tokens_ = options.seq_len + 1;
    rows_per_micro_ = options.local_batch_size * options.data_ranks;
    rows_per_step_ = rows_per_micro_ * options.micro_batches;
    facts_.tokens = static_cast<int64_t>(corpus_.tokens.size());
    facts_.rows = facts_.tokens / row_tokens_;
    facts_.steps_per_epoch = facts_.rows / rows_per_step_;
    facts_.unigram_entropy = unigram_entropy(corpus_.tokens);
    facts_.description =
        base::format("{}, {} tokens, {} rows", dataset.name, count_text(facts_.tokens),
                     base::with_commas(static_cast<uint64_t>(facts_.rows)));
    check_size(dataset);
    check_vocabulary();
  }

  Batch batch(int64_t step, int64_t micro) const override {
    CHECK(step >= 1 && micro >= 0 && micro < options_.micro_batches);
    const int64_t rows = options_.local_batch_size, length = options_.seq_len;
    Batch batch{host::Tensor::make(DType::i64, {rows, length}),
                host::Tensor::make(DType::i64, {rows, length}),
                host::Tensor::make(DType::i64, {rows, length})};
    const int64_t first = (step - 1) * rows_per_step_ + micro * rows_per_micro_ +
                          options_.data_rank * options_.local_batch_size;
    for (int64_t r = 0; r < rows; ++r) {
      fill_row(row_at(first + r), {batch.tokens.data<int64_t>() + r * length,
                                   batch.labels.data<int64_t>() + r * length,
                                   batch.documents.data<int64_t>() + r * length});
    }
    return batch;
  }

  int64_t valid_tokens(int64_t step) const override {
    CHECK(step >= 1);
    int64_t valid = rows_per_step_ * options_.seq_len;
    if (!options_.mask_document_labels) return valid;
    for (int64_t r = 0; r < rows_per_step_; ++r) {
      valid -= document_borders(row_at((step - 1) * rows_per_step_ + r));
    }
    return valid;
  }

 private:
  struct Row {
    int64_t *tokens, *labels, *documents;
  };

  void make_text() {
    SyntheticCorpus made = make_synthetic(options_.seed, options_.split, synthetic_tokens);
    corpus_ = std::move(made.corpus);
    facts_.best_loss = made.best_loss;
    facts_.eos_id = synthetic_eos;
  }

  void read_text(const Dataset& dataset) {
    tokenizer_ = std::make_unique<Tokenizer>(Tokenizer::load(options_.tokenizer_path));
    facts_.warnings = tokenizer_->warnings();
    facts_.eos_id = tokenizer_->eos_id();
    corpus_ = tokenize(read_documents(dataset, options_.split), *tokenizer_, options_.cache_folder);
  }

  void check_size(const Dataset& dataset) const {
    if (facts_.rows >= rows_per_step_) return;
    fail_user(
        Exit::data,
        "dataset \"{}\"{} has {} tokens, but one step takes {} rows of {} tokens ({}); use more "
        "text, a shorter training.seq_len or a smaller batch",
        dataset.name, dataset.path.empty() ? "" : " (" + dataset.path + ")", facts_.tokens,
        rows_per_step_, row_tokens_, rows_per_step_ * row_tokens_);
  }

  void check_vocabulary() const {
    const TokenId largest = *std::ranges::max_element(corpus_.tokens);
    if (options_.vocab_size == 0 || largest < options_.vocab_size) return;
    fail_user(Exit::data,
              "token id {} is past the model's vocabulary of {}; the tokenizer {} needs "
              "model.args.vocab_size of at least {}",
              largest, options_.vocab_size, tokenizer_ ? options_.tokenizer_path : "of the dataset",
              tokenizer_ ? tokenizer_->id_limit() : synthetic_vocab);
  }

  // The row of the corpus that comes `index`-th in the run.
  int64_t row_at(int64_t index) const {
    const int64_t epoch = index / facts_.rows, place = index % facts_.rows;
    if (epoch == 0 && file_order_first_epoch_) return place;
    return shuffled_place(place, facts_.rows, options_.seed, static_cast<uint64_t>(epoch));
  }

  void fill_row(int64_t row, Row out) const {
    const int64_t begin = row * row_tokens_;
    const TokenId* tokens = corpus_.tokens.data() + begin;
    const auto& ends = corpus_.document_ends;
    auto end = std::ranges::upper_bound(ends, begin);  // of the document that `begin` is in
    int64_t document = 0;
    for (int64_t i = 0; i < options_.seq_len; ++i) {
      out.tokens[i] = tokens[i];
      out.labels[i] = tokens[i + 1];
      out.documents[i] = document;
      if (*end != begin + i + 1) continue;
      if (options_.mask_document_labels) out.labels[i] = ignored_label;
      ++document;
      ++end;
    }
  }

  // Labels of a row that are the first token of a document.
  int64_t document_borders(int64_t row) const {
    const int64_t begin = row * row_tokens_;
    const auto& ends = corpus_.document_ends;
    return std::ranges::upper_bound(ends, begin + options_.seq_len) -
           std::ranges::upper_bound(ends, begin);
  }

  LoaderOptions options_;
  Corpus corpus_;
  bool file_order_first_epoch_ = false;
  int64_t row_tokens_ = 0, rows_per_micro_ = 0, rows_per_step_ = 0;
};

}  // namespace

std::unique_ptr<Loader> open_loader(const LoaderOptions& options) {
  CHECK(options.seq_len > 0 && options.local_batch_size > 0 && options.micro_batches > 0);
  CHECK(options.data_rank >= 0 && options.data_rank < options.data_ranks);
  const Dataset dataset = find_dataset(options.dataset, options.dataset_path);
  if (dataset.kind == Dataset::Kind::batches) return open_batches(dataset.path, options);
  return std::make_unique<PackedLoader>(options, dataset);
}

// A Feistel network over the smallest square of a power of two that holds `count`, walked until it
// lands below `count` (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002,
// section 4): no list of rows is kept, however many there are.
int64_t shuffled_place(int64_t index, int64_t count, uint64_t seed, uint64_t epoch) {
  CHECK(index >= 0 && index < count);
  constexpr uint64_t rounds =
      8;  // twice what Luby and Rackoff need for good random round functions
  const int bits = (std::bit_width(static_cast<uint64_t>(count - 1)) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t key = base::hash_combine(base::hash_combine(seed, base::fnv1a64("rows")), epoch);
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> bits, right = value & mask;
    for (uint64_t round = 0; round < rounds; ++round) {
      const uint64_t mixed = base::hash_combine(base::hash_combine(key, round), right);
      left = std::exchange(right, left ^ (mixed >> 32 & mask));
    }
    value = left << bits | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

}  // namespace text
