// The whole file is checked when opened, so that no step can fail in the middle of a run.
#include "text/batches.h"

#include <charconv>
#include <cstring>

#include "base/error.h"
#include "host/safetensors.h"
#include "text/corpus.h"

namespace text {
namespace {

using base::DType;
using base::Exit;
using base::fail_user;

class BatchesLoader : public Loader {
 public:
  BatchesLoader(const std::string& path, const LoaderOptions& options)
      : path_(path), options_(options), file_(path, Exit::data) {
    const host::TensorEntry* entry = file_.find("input");
    if (!entry || entry->shape.size() != 4) {
      fail_user(
          Exit::data,
          "{}: expected tensors \"input\" and \"labels\" of shape [steps, micro-batches, batch, "
          "seq], found {}",
          path, entry ? base::format("{} dimensions", entry->shape.size()) : "no \"input\"");
    }
    steps_ = entry->shape[0];
    const int64_t batch = options.local_batch_size * options.data_ranks;
    const host::Shape shape{steps_, options.micro_batches, batch, options.seq_len};
    input_ = file_.get("input", DType::i64, shape);
    labels_ = file_.get("labels", DType::i64, shape);
    if (steps_ == 0) fail_user(Exit::data, "{}: there are no steps in the file", path);
    if (options.steps > steps_) {
      fail_user(Exit::data, "{}: has {} steps, but training.steps is {}", path, steps_,
                options.steps);
    }
    step_tokens_ = input_.count() / steps_;
    check_ids();
    set_facts();
  }

  Batch batch(int64_t step, int64_t micro) const override {
    CHECK(step >= 1 && micro >= 0 && micro < options_.micro_batches);
    if (step > steps_) {  // a resumed run may be further in its data than in its steps
      fail_user(Exit::data, "batches: the file has {} steps, the data of step {} is asked for",
                steps_, step);
    }
    const int64_t rows = options_.local_batch_size, length = options_.seq_len;
    const int64_t rank_tokens = rows * length;
    const int64_t offset = (step - 1) * step_tokens_ +
                           (micro * options_.data_ranks + options_.data_rank) * rank_tokens;
    Batch batch;
    batch.tokens = copy(input_, offset);
    batch.labels = copy(labels_, offset);
    batch.documents = host::Tensor::make(DType::i64, {rows, length});
    const int64_t* tokens = batch.tokens.data<int64_t>();
    int64_t* documents = batch.documents.data<int64_t>();
    for (int64_t i = 0; i < rank_tokens; ++i) {
      const bool starts_row = i % length == 0;
      documents[i] = starts_row ? 0 : documents[i - 1] + (tokens[i - 1] == eos_ ? 1 : 0);
    }
    return batch;
  }

  int64_t valid_tokens(int64_t step) const override {
    CHECK(step >= 1 && step <= steps_);
    const int64_t* labels = labels_.data<int64_t>() + (step - 1) * step_tokens_;
    int64_t valid = 0;
    for (int64_t i = 0; i < step_tokens_; ++i) valid += labels[i] != ignored_label;
    return valid;
  }

 private:
  host::Tensor copy(const host::Tensor& all, int64_t offset) const {
    host::Tensor out =
        host::Tensor::make(DType::i64, {options_.local_batch_size, options_.seq_len});
    std::memcpy(out.raw(), all.data<int64_t>() + offset, static_cast<size_t>(out.bytes()));
    return out;
  }

  void check_ids() const {
    const int64_t limit = options_.vocab_size > 0 ? options_.vocab_size : INT32_MAX;
    const auto check = [&](const host::Tensor& ids, const char* name, int64_t also) {
      for (int64_t i = 0; i < ids.count(); ++i) {
        const int64_t id = ids.data<int64_t>()[i];
        if ((id >= 0 && id < limit) || id == also) continue;
        fail_user(Exit::data, "{}: \"{}\" holds {} at step {}, outside the vocabulary, 0 to {}",
                  path_, name, id, i / step_tokens_ + 1, limit - 1);
      }
    };
    check(input_, "input", 0);
    check(labels_, "labels", ignored_label);
  }

  void set_facts() {
    const auto eos = file_.metadata().find("eos_id");
    if (eos != file_.metadata().end()) {
      const std::string& word = eos->second;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), eos_);
      if (error != std::errc() || end != word.data() + word.size() || eos_ < 0 ||
          eos_ > INT32_MAX) {
        fail_user(Exit::data, "{}: metadata eos_id is \"{}\", expected a token id", path_, word);
      }
      facts_.eos_id = static_cast<TokenId>(eos_);
    }
    std::vector<TokenId> counted;
    for (int64_t i = 0; i < labels_.count(); ++i) {
      const int64_t id = labels_.data<int64_t>()[i];
      if (id != ignored_label) counted.push_back(static_cast<TokenId>(id));
    }
    facts_.tokens = input_.count();
    facts_.rows = facts_.tokens / options_.seq_len;
    facts_.steps_per_epoch = steps_;
    facts_.unigram_entropy = unigram_entropy(counted);
    facts_.description = base::format("batches, {} steps", steps_);
  }

  std::string path_;
  LoaderOptions options_;
  host::SafetensorsFile file_;
  host::Tensor input_, labels_;
  int64_t steps_ = 0, step_tokens_ = 0;
  int64_t eos_ = -1;  // no token: one document a row
};

}  // namespace

std::unique_ptr<Loader> open_batches(const std::string& path, const LoaderOptions& options) {
  return std::make_unique<BatchesLoader>(path, options);
}

}  // namespace text
