// heddle tokenizer: train, encode, decode, inspect.
#include "text/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "main/commands.h"
#include "text/bpe_train.h"
#include "text/dataset.h"

namespace program {
namespace {

using base::Exit;
using base::fail_user;

std::string read_standard_input() { return base::read_file("/dev/stdin", Exit::data); }

text::Tokenizer load(const std::string& path) {
  text::Tokenizer tokenizer = text::Tokenizer::load(path);
  for (const std::string& warning : tokenizer.warnings()) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  return tokenizer;
}

int64_t parse_int(std::string_view word, std::string_view what) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    fail_user(Exit::config, "tokenizer: {} \"{}\" is no whole number", what, word);
  }
  return value;
}

int train(Arguments args) {
  text::BpeTrainOptions options;
  std::vector<std::string> paths;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view word = args[i];
    if (!word.starts_with("--")) {
      paths.push_back(args[i]);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (name != "--vocab_size" && name != "--vocab-size") {
      fail_user(Exit::config, "tokenizer train: unknown option {}; it takes --vocab_size N", name);
    }
    if (equals == word.npos && ++i == args.size()) {
      fail_user(Exit::config, "tokenizer train: {} needs a number", name);
    }
    const std::string_view value = equals == word.npos ? args[i] : word.substr(equals + 1);
    options.vocab_size = parse_int(value, "vocab_size");
  }
  if (paths.size() < 2) {
    fail_user(Exit::config,
              "tokenizer train: give inputs and a folder for the result, such as: "
              "heddle tokenizer train data/novels data/tokenizer");
  }
  const std::string folder = paths.back();
  paths.pop_back();
  std::vector<text::Document> documents;
  for (const std::string& path : paths) text::append_documents(path, documents);
  std::vector<std::string_view> texts;
  size_t bytes = 0;
  for (const text::Document& document : documents) {
    texts.push_back(document.text);
    bytes += document.text.size();
  }
  const text::TrainedTokenizer trained = text::train_bpe(texts, options);
  base::make_directories(folder, Exit::data);
  base::write_file(base::join_path(folder, "tokenizer_config.json"), trained.config_json,
                   Exit::data);
  base::write_file(base::join_path(folder, "tokenizer.json"), trained.tokenizer_json, Exit::data);
  print(base::format("{} tokens from {} documents, {} bytes -> {}\n", trained.vocab_size,
                     documents.size(), base::with_commas(bytes), folder));
  if (trained.vocab_size < options.vocab_size) {
    std::fprintf(stderr,
                 "warning: asked for %lld tokens, but the text has no more repeated pairs\n",
                 static_cast<long long>(options.vocab_size));
  }
  return 0;
}

int encode(Arguments args) {
  if (args.empty() || args.size() > 2) {
    fail_user(Exit::config,
              "tokenizer encode: expected TOKENIZER [TEXT]; quote a TEXT with spaces");
  }
  const text::Tokenizer tokenizer = load(args[0]);
  std::string out;
  for (const text::TokenId id :
       tokenizer.encode(args.size() == 2 ? args[1] : read_standard_input())) {
    if (!out.empty()) out += ' ';
    out += std::to_string(id);
  }
  print(out + "\n");
  return 0;
}

int decode(Arguments args) {
  if (args.empty()) fail_user(Exit::config, "tokenizer decode: expected TOKENIZER [ID...]");
  const text::Tokenizer tokenizer = load(args[0]);
  std::string words;
  for (const std::string& word : args.subspan(1)) words += word + " ";
  if (args.size() == 1) words = read_standard_input();
  std::vector<text::TokenId> ids;
  const std::string_view separators = " ,\t\r\n[]";
  for (size_t at = words.find_first_not_of(separators); at != words.npos;) {
    const size_t end = std::min(words.find_first_of(separators, at), words.size());
    const int64_t id = parse_int(std::string_view(words).substr(at, end - at), "id");
    if (id < 0 || id >= tokenizer.id_limit()) {
      fail_user(Exit::data, "tokenizer decode: id {} is outside the vocabulary, 0 to {}", id,
                tokenizer.id_limit() - 1);
    }
    ids.push_back(static_cast<text::TokenId>(id));
    at = words.find_first_not_of(separators, end);
  }
  print(tokenizer.decode(ids));
  return 0;
}

int inspect(Arguments args) {
  if (args.size() != 1) fail_user(Exit::config, "tokenizer inspect: expected TOKENIZER");
  const text::Tokenizer tokenizer = load(args[0]);
  const auto describe = [&](std::optional<text::TokenId> id) {
    return id ? base::format("{} \"{}\"", *id, *tokenizer.token_of(*id)) : std::string("none");
  };
  print(base::format("tokens {}\nids    0 to {}\nbos    {}\neos    {}\nhash   {}\n",
                     tokenizer.vocab_size(), tokenizer.id_limit() - 1, describe(tokenizer.bos_id()),
                     describe(tokenizer.eos_id()), tokenizer.fingerprint()));
  return 0;
}

}  // namespace

int run_tokenizer(Arguments args) {
  if (args.empty()) {
    fail_user(Exit::config,
              "tokenizer: expected train, encode, decode or inspect; try `heddle "
              "help tokenizer`");
  }
  const std::string& command = args[0];
  if (command == "train") return train(args.subspan(1));
  if (command == "encode") return encode(args.subspan(1));
  if (command == "decode") return decode(args.subspan(1));
  if (command == "inspect") return inspect(args.subspan(1));
  const std::string known[] = {"train", "encode", "decode", "inspect"};
  const std::string close = base::nearest(command, known);
  fail_user(Exit::config, "tokenizer: unknown command \"{}\"; {}", command,
            close.empty() ? "`heddle help tokenizer` lists what there is"
                          : "did you mean \"" + close + "\"?");
}

}  // namespace program
