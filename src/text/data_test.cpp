// Datasets, the tokenised corpus and its cache, synthetic text, order and contents of batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "host/safetensors.h"
#include "text/bpe_train.h"
#include "text/corpus.h"
#include "text/loader.h"
#include "text/synthetic.h"

namespace text {
namespace {

using base::Exit;

// A folder of its own for each test; emptied first.
class Data : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(HEDDLE_BINARY_DIR) + "/text_test/" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    base::make_directories(folder_, Exit::data);
    for (const std::string& name : base::list_directory(folder_, Exit::data)) {
      if (base::file_exists(path(name))) base::remove_file(path(name), Exit::data);
    }
  }
  std::string path(std::string_view name) const { return base::join_path(folder_, name); }
  std::string write(std::string_view name, std::string_view content) const {
    base::write_file(path(name), content, Exit::data);
    return path(name);
  }
  // A byte-level tokenizer without merges: BOS 0, EOS 1.
  std::string tokenizer() const {
    const TrainedTokenizer trained = train_bpe({}, {.vocab_size = 258});
    write("tokenizer_config.json", trained.config_json);
    return write("tokenizer.json", trained.tokenizer_json);
  }
  LoaderOptions options(const std::string& dataset, const std::string& data_path) const {
    return {.dataset = dataset,
            .dataset_path = data_path,
            .tokenizer_path = tokenizer(),
            .seq_len = 7,
            .local_batch_size = 2};
  }

  std::string folder_;
};

template <class F>
std::string refusal(F&& action) {
  try {
    action();
  } catch (const base::UserError& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.message();
  }
  return "accepted";
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

std::vector<Document> documents_of(const std::string& path) {
  std::vector<Document> documents;
  append_documents(path, documents);
  return documents;
}

TEST_F(Data, text_and_jsonl_files_give_documents) {
  EXPECT_EQ(documents_of(write("a.txt", "\xef\xbb\xbfone\n")).at(0).text, "one\n");
  const auto lines =
      documents_of(write("b.jsonl", "{\"text\": \"x\\n\"}\r\n\n{\"url\": 1, \"text\": \"\"}"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "x\n");
  EXPECT_EQ(lines[1].name, path("b.jsonl") + ":3");
  write("notes.md", "not read");
  const auto all = documents_of(folder_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, path("a.txt"));
}

TEST_F(Data, malformed_files_are_refused_with_their_place) {
  const auto message = [&](std::string_view name, std::string_view content) {
    const std::string file = write(name, content);
    return refusal([&] { documents_of(file); });
  };
  expect_contains(message("a.txt", ""), "a.txt: the file is empty");
  expect_contains(message("b.txt", "good\xff!"), "b.txt: byte 4 (0xff) is not UTF-8");
  expect_contains(message("a.jsonl", "{\"text\": \"x\"}\n{\"text\": \"y}\n"), "a.jsonl:2:");
  expect_contains(message("b.jsonl", "{\"text\": null}"), "b.jsonl:1: field \"text\" is null");
  expect_contains(message("c.jsonl", "\n{\"content\": \"x\"}"),
                  "c.jsonl:2: no field \"text\"; the fields are: content");
  expect_contains(message("d.jsonl", "[1]"), "d.jsonl:1: a JSON array");
  expect_contains(message("e.jsonl", "\"x\""), "e.jsonl:1: expected an object");
  expect_contains(message("f.jsonl", "\n \n"), "only blank lines");
  expect_contains(message("g.txt.gz", "x"), "compressed");
  expect_contains(refusal([&] { documents_of(path("missing")); }), "does not exist");
  base::make_directories(path("empty"), Exit::data);
  expect_contains(refusal([&] { documents_of(path("empty")); }), "no *.txt, *.jsonl or *.json");
}

TEST_F(Data, names_are_known_or_come_with_a_path) {
  expect_contains(refusal([] { find_dataset("novel", {}); }), "did you mean \"novels\"?");
  expect_contains(refusal([] { find_dataset("c4", {}); }), "set training.dataset_path");
  expect_contains(refusal([&] { find_dataset("novels", path("missing")); }),
                  "scripts/fetch_novels.sh");
  expect_contains(refusal([&] { find_dataset("c4_test", path("missing")); }),
                  "run inside a torchtitan checkout");
  expect_contains(refusal([] { find_dataset("batches", {}); }), "safetensors");
  EXPECT_TRUE(find_dataset("mine", write("mine.txt", "x")).file_order_first_epoch);
  EXPECT_FALSE(find_dataset("text", path("mine.txt")).file_order_first_epoch);
}

TEST_F(Data, novels_hold_back_their_last_twentieth) {
  std::string novel;
  for (int line = 0; line < 1000; ++line) novel += base::format("line {:03d}\n", line);
  write("a.txt", novel);
  const Dataset dataset = find_dataset("novels", folder_);
  const std::string train = read_documents(dataset, DataSplit::train).at(0).text;
  const std::string held = read_documents(dataset, DataSplit::validation).at(0).text;
  EXPECT_EQ(train + held, novel);
  EXPECT_TRUE(held.starts_with("line 95")) << held.substr(0, 20);
}

TEST_F(Data, rows_are_packed_in_file_order_with_bos_and_eos) {
  const std::string file = write("c.jsonl",
                                 "{\"text\": \"abcdefgh\"}\n{\"text\": \"!\"}\n"
                                 "{\"text\": \"ijklmnopqrstuvwxyz\"}\n");
  LoaderOptions o = options("mine", file);
  o.mask_document_labels = true;
  const std::unique_ptr<Loader> loader = open_loader(o);
  // 10 + 3 + 20 tokens: four rows of 8, and one token left over.
  EXPECT_EQ(loader->facts().tokens, 33);
  EXPECT_EQ(loader->facts().rows, 4);
  EXPECT_EQ(loader->facts().steps_per_epoch, 2);
  const Batch batch = loader->batch(1, 0);
  EXPECT_EQ(batch.tokens.shape(), (host::Shape{2, 7}));
  const auto row = [](const host::Tensor& t, int64_t r) {
    return std::vector<int64_t>(t.data<int64_t>() + r * 7, t.data<int64_t>() + (r + 1) * 7);
  };
  const auto id = [&](char c) { return int64_t{*loader->tokenizer()->id_of(std::string(1, c))}; };
  using Row = std::vector<int64_t>;
  EXPECT_EQ(row(batch.tokens, 0), (Row{0, id('a'), id('b'), id('c'), id('d'), id('e'), id('f')}));
  EXPECT_EQ(row(batch.labels, 0),
            (Row{id('a'), id('b'), id('c'), id('d'), id('e'), id('f'), id('g')}));
  EXPECT_EQ(row(batch.tokens, 1), (Row{id('h'), 1, 0, id('!'), 1, 0, id('i')}));
  EXPECT_EQ(row(batch.labels, 1), (Row{1, -100, id('!'), 1, -100, id('i'), id('j')}));
  EXPECT_EQ(row(batch.documents, 1), (Row{0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(loader->valid_tokens(1), 12);
  EXPECT_EQ(loader->valid_tokens(2), 14);
  // Epoch 2 (steps 3 and 4) is shuffled, holds the same rows, and masks the same labels.
  EXPECT_EQ(loader->valid_tokens(3) + loader->valid_tokens(4), 26);
}

TEST_F(Data, a_file_of_one_byte_is_too_small_for_a_batch) {
  const LoaderOptions o = options("text", write("a.txt", "x"));
  expect_contains(refusal([&] { open_loader(o); }),
                  "has 3 tokens, but one step takes 2 rows of 8 tokens (16)");
}

TEST_F(Data, tokens_past_the_vocabulary_are_refused) {
  LoaderOptions o = options("text", write("a.txt", std::string(200, 'x')));
  o.vocab_size = 100;
  EXPECT_EQ(refusal([&] { open_loader(o); }), "accepted");
  o = options("text", write("b.txt", std::string(200, '\n')));
  o.vocab_size = 100;
  expect_contains(refusal([&] { open_loader(o); }), "past the model's vocabulary of 100");
  o.tokenizer_path = path("nowhere");
  expect_contains(refusal([&] { open_loader(o); }), "heddle tokenizer train");
}

std::vector<int64_t> firsts(const Loader& loader, int64_t steps, int64_t micros) {
  std::vector<int64_t> out;
  for (int64_t step = 1; step <= steps; ++step) {
    for (int64_t micro = 0; micro < micros; ++micro) {
      const host::Tensor t = loader.batch(step, micro).tokens;
      for (int64_t r = 0; r < t.dim(0); ++r) {
        // Two tokens name a row of the file below.
        out.push_back(t.data<int64_t>()[r * 7 + 1] * 1000 + t.data<int64_t>()[r * 7 + 2]);
      }
    }
  }
  return out;
}

TEST_F(Data, global_order_does_not_depend_on_ranks_or_micro_batches) {
  std::string text;
  for (int line = 0; line < 64; ++line) text += base::format("{:07d}\n", line * 7919);
  LoaderOptions o = options("text", write("a.txt", text));
  o.local_batch_size = 8;
  const auto whole = open_loader(o);
  const std::vector<int64_t> order = firsts(*whole, 16, 1);
  EXPECT_EQ(firsts(*whole, 16, 1), order);  // asking again changes nothing
  o.local_batch_size = 2;
  o.micro_batches = 4;
  EXPECT_EQ(firsts(*open_loader(o), 16, 4), order);
  // Row r of a global batch goes to rank floor(r / local batch).
  o.micro_batches = 1;
  o.data_ranks = 4;
  for (int64_t rank = 0; rank < 4; ++rank) {
    o.data_rank = rank;
    const std::vector<int64_t> part = firsts(*open_loader(o), 16, 1);
    for (size_t step = 0; step < 16; ++step) {
      for (size_t r = 0; r < 2; ++r) {
        EXPECT_EQ(part[step * 2 + r], order[step * 8 + static_cast<size_t>(rank) * 2 + r]);
      }
    }
  }
  o = options("text", path("a.txt"));
  o.local_batch_size = 8;
  o.seed = 1;
  EXPECT_NE(firsts(*open_loader(o), 16, 1), order);
}

TEST(Shuffle, is_a_permutation_that_moves_things) {
  for (const int64_t count : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    std::set<int64_t> places;
    int64_t fixed = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = shuffled_place(i, count, 7, 3);
      places.insert(place);
      fixed += place == i;
    }
    EXPECT_EQ(static_cast<int64_t>(places.size()), count);
    EXPECT_EQ(*places.rbegin(), count - 1);
    EXPECT_LT(fixed, 10);
  }
  // Pinned: a change would break every resumed run.
  std::vector<int64_t> first;
  for (int64_t i = 0; i < 8; ++i) first.push_back(shuffled_place(i, 1000, 0, 0));
  EXPECT_EQ(first, (std::vector<int64_t>{586, 79, 374, 536, 504, 19, 955, 341}));
}

TEST_F(Data, the_cache_gives_the_same_tokens_and_survives_damage) {
  const Tokenizer tokenizer = Tokenizer::load(this->tokenizer());
  const std::vector<Document> documents = {{"a", "some text"}, {"b", ""}, {"c", "more\n"}};
  const std::string cache = path("cache");
  base::make_directories(cache, Exit::data);
  for (const auto& name : base::list_directory(cache, Exit::data)) {
    base::remove_file(base::join_path(cache, name), Exit::data);
  }
  const Corpus plain = tokenize(documents, tokenizer, "");
  const auto same = [&](const Corpus& corpus) {
    return std::ranges::equal(corpus.tokens, plain.tokens) &&
           std::ranges::equal(corpus.document_ends, plain.document_ends);
  };
  EXPECT_TRUE(same(tokenize(documents, tokenizer, cache)));
  ASSERT_EQ(base::list_directory(cache, Exit::data).size(), 1u);
  const std::string file = base::join_path(cache, base::list_directory(cache, Exit::data)[0]);
  const std::string good = base::read_file(file, Exit::data);
  EXPECT_TRUE(same(tokenize(documents, tokenizer, cache)));
  for (size_t i = 0; i < good.size(); i += 13) {  // each write waits for the disk
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    base::write_file(file, bad, Exit::data);
    EXPECT_TRUE(same(tokenize(documents, tokenizer, cache))) << "byte " << i;
    base::write_file(file, good.substr(0, i), Exit::data);
    EXPECT_TRUE(same(tokenize(documents, tokenizer, cache))) << "cut at " << i;
  }
  EXPECT_TRUE(same(tokenize(documents, tokenizer, "/proc/no/such/folder")));
  std::vector<Document> other = documents;
  other[0].text = "some texT";
  EXPECT_FALSE(same(tokenize(other, tokenizer, cache)));
}

TEST(Corpus, unigram_entropy) {
  EXPECT_EQ(unigram_entropy({}), 0);
  const std::vector<TokenId> tokens = {5, 5, 0, 9};
  EXPECT_NEAR(unigram_entropy(tokens), 1.5 * std::log(2), 1e-15);
}

std::string plain(const Corpus& corpus, size_t document) {
  std::string out;
  const int64_t begin = document == 0 ? 0 : corpus.document_ends[document - 1];
  for (int64_t i = begin + 1; i + 1 < corpus.document_ends[document]; ++i) {
    out += static_cast<char>(corpus.tokens[static_cast<size_t>(i)]);
  }
  return out;
}

TEST(Synthetic, documents_follow_their_rules) {
  const SyntheticCorpus made = make_synthetic(3, DataSplit::train, 20000);
  std::set<char> tags;
  for (size_t d = 0; d < made.corpus.document_ends.size(); ++d) {
    const std::string text = plain(made.corpus, d);
    const std::string body = text.substr(1);
    const size_t half = body.size() / 2;
    tags.insert(text[0]);
    if (text[0] == 'C') {
      EXPECT_EQ(body.substr(0, half), body.substr(half + 1));
    } else if (text[0] == 'R') {
      EXPECT_EQ(std::string(body.rbegin(), body.rend()), body);
    } else if (text[0] == 'A') {
      EXPECT_EQ(std::stoi(body) + std::stoi(body.substr(4)), std::stoi(body.substr(8)));
    } else if (text[0] == 'B') {
      EXPECT_EQ(body.size(), 16u);
    } else {
      EXPECT_EQ(body.size(), 64u);
    }
  }
  EXPECT_EQ(tags.size(), 8u);
}

// By hand: entropy of a document's choices over its mean length. Copies: 9 lengths, 8 letters on
// average; sums: 900^2, length 11 + 2 or 3 digits more; Markov: 16 states, then 63 x 1.75 bits.
// Brackets have no closed form here, so they are left out by counting only the other seven tasks.
TEST(Synthetic, best_loss_is_the_entropy_of_the_choices) {
  const SyntheticCorpus a = make_synthetic(1, DataSplit::train, 1 << 20);
  const SyntheticCorpus b = make_synthetic(2, DataSplit::train, 1 << 20);
  EXPECT_NEAR(a.best_loss, b.best_loss, 0.005);  // sampling noise of 25,000 documents
  const double nats = std::log(2.0);
  const double copy = std::log(9.0) + 8 * std::log(26.0), copy_length = 2 * 8 + 1 + 3;
  const double markov = std::log(16.0) + 63 * 1.75 * nats, markov_length = 64 + 3;
  const double sum = 2 * std::log(900.0),
               sum_length = 3 + 8 + 3 + 0.5;  // half of the sums pass 999
  // Brackets: 16 characters; 8 kinds, and a coin wherever both may come: at most 14.
  const double low = 8 * std::log(3.0), high = low + 14 * nats, length = 16 + 3;
  const double lengths = 2 * copy_length + sum_length + length + 4 * markov_length;
  const double others = 8 * std::log(8.0) + 2 * copy + sum + 4 * markov;
  EXPECT_GT(a.best_loss, (others + low) / lengths);
  EXPECT_LT(a.best_loss, (others + high) / lengths);
  EXPECT_NE(make_synthetic(1, DataSplit::validation, 1000).corpus.tokens[10],
            make_synthetic(1, DataSplit::train, 1000).corpus.tokens[10]);
}

TEST(Synthetic, trains_without_a_tokenizer) {
  const auto loader = open_loader({.dataset = "synthetic", .seq_len = 128, .local_batch_size = 4});
  EXPECT_EQ(loader->tokenizer(), nullptr);
  EXPECT_EQ(loader->valid_tokens(1), 512);
  EXPECT_LT(*loader->facts().best_loss, loader->facts().unigram_entropy);
  EXPECT_EQ(loader->facts().eos_id, synthetic_eos);
}

TEST(Batches, golden_files_are_read_by_step_micro_and_rank) {
  const std::string path =
      std::string(HEDDLE_SOURCE_DIR) + "/tests/goldens/tiny-documents/batches.safetensors";
  LoaderOptions o{.dataset = "batches",
                  .dataset_path = path,
                  .seq_len = 16,
                  .local_batch_size = 2,
                  .steps = 10,
                  .vocab_size = 64};
  const auto loader = open_loader(o);
  const host::SafetensorsFile file(path, Exit::data);
  const host::Tensor input = file.get("input"), labels = file.get("labels");
  EXPECT_EQ(loader->facts().eos_id, 7);
  EXPECT_TRUE(host::same_bits(loader->batch(3, 0).tokens,
                              input.view({2, 16}, {16, 1}, 2 * 32).contiguous()));
  EXPECT_TRUE(host::same_bits(loader->batch(10, 0).labels,
                              labels.view({2, 16}, {16, 1}, 9 * 32).contiguous()));
  const Batch batch = loader->batch(1, 0);
  int64_t ends = 0;
  for (int64_t i = 1; i < 16; ++i) {
    ends += batch.tokens.data<int64_t>()[i - 1] == 7;
    EXPECT_EQ(batch.documents.data<int64_t>()[i], ends);
  }
  o.local_batch_size = 1;
  o.data_ranks = 2;
  o.data_rank = 1;
  EXPECT_TRUE(host::same_bits(open_loader(o)->batch(2, 0).tokens,
                              input.view({1, 16}, {16, 1}, 32 + 16).contiguous()));
}

TEST_F(Data, bad_batches_are_refused) {
  const auto message = [&](std::string_view name, host::Tensor input, host::Tensor labels) {
    const host::NamedTensor tensors[] = {{"input", input}, {"labels", labels}};
    host::write_safetensors(path(name), tensors, {{"eos_id", "7"}}, Exit::data);
    return refusal([&] {
      open_loader({.dataset = "batches",
                   .dataset_path = path(name),
                   .seq_len = 4,
                   .local_batch_size = 1,
                   .steps = 2,
                   .vocab_size = 8});
    });
  };
  const auto ids = [](host::Shape shape, int64_t last) {
    host::Tensor t = host::Tensor::zeros(base::DType::i64, shape);
    if (t.count() > 0) t.data<int64_t>()[t.count() - 1] = last;
    return t;
  };
  const host::Tensor good = ids({2, 1, 1, 4}, 7);
  EXPECT_EQ(message("a", good, ids({2, 1, 1, 4}, ignored_label)), "accepted");
  expect_contains(message("b", ids({2, 1, 1, 4}, 8), good), "holds 8 at step 2");
  expect_contains(message("c", ids({2, 1, 1, 4}, -100), good), "holds -100 at step 2");
  expect_contains(message("d", good, ids({2, 1, 1, 4}, -1)), "\"labels\" holds -1");
  expect_contains(message("e", good, ids({2, 1, 1, 5}, 0)), "labels");
  expect_contains(message("f", ids({2, 4}, 0), good), "found 2 dimensions");
  expect_contains(message("g", ids({1, 1, 1, 4}, 0), ids({1, 1, 1, 4}, 0)), "training.steps is 2");
  expect_contains(message("h", ids({0, 1, 1, 4}, 0), ids({0, 1, 1, 4}, 0)), "no steps");
}

}  // namespace
}  // namespace text
