// Cache file, little-endian: a head of 64 bytes, the tokens as i32, the ends of documents as i64
// from the next multiple of 8.
#include "text/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"

namespace text {
namespace {

using base::Exit;

// To be raised when the same texts and tokenizer would give other tokens, or the layout changes.
constexpr uint32_t version = 1;

struct Head {
  char magic[8];
  uint32_t version;
  uint32_t token_bytes;
  uint64_t token_count;
  uint64_t document_count;
  char checksum[32];  // XXH3-128 of everything behind the head, in hex
};
static_assert(sizeof(Head) == 64);
constexpr char magic[8] = {'H', 'D', 'L', 'T', 'O', 'K', 'E', 'N'};

struct Owned {
  std::vector<TokenId> tokens;
  std::vector<int64_t> document_ends;
};

std::string cache_key(std::span<const Document> documents, const Tokenizer& tokenizer) {
  std::string parts = base::format("{} {}", version, tokenizer.fingerprint());
  for (const Document& document : documents) {
    parts += base::xxh3_128_hex(document.text);
  }
  return base::xxh3_128_hex(parts);
}

size_t ends_offset(size_t token_count) {
  return (sizeof(Head) + token_count * sizeof(TokenId) + 7) / 8 * 8;
}

// The cached corpus, or none when the file is not there, is damaged, or is of another version.
std::optional<Corpus> read_cache(const std::string& path) {
  if (!base::file_exists(path)) return std::nullopt;
  const auto file = std::make_shared<base::MappedFile>(path, Exit::data);
  const std::span<const std::byte> bytes = file->bytes();
  Head head;
  if (bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (std::memcmp(head.magic, magic, sizeof(magic)) != 0 || head.version != version ||
      head.token_bytes != sizeof(TokenId) || head.token_count > bytes.size() ||
      head.document_count > bytes.size()) {
    return std::nullopt;
  }
  const size_t ends = ends_offset(head.token_count);
  if (bytes.size() != ends + head.document_count * sizeof(int64_t)) return std::nullopt;
  if (base::xxh3_128_hex(bytes.subspan(sizeof(head))) !=
      std::string_view(head.checksum, sizeof(head.checksum))) {
    return std::nullopt;
  }
  Corpus corpus;
  corpus.tokens = {reinterpret_cast<const TokenId*>(bytes.data() + sizeof(head)), head.token_count};
  corpus.document_ends = {reinterpret_cast<const int64_t*>(bytes.data() + ends),
                          head.document_count};
  corpus.owner = file;
  return corpus;
}

void write_cache(const std::string& path, const Corpus& corpus) {
  const size_t ends = ends_offset(corpus.tokens.size());
  std::string payload(ends - sizeof(Head) + corpus.document_ends.size_bytes(), '\0');
  std::memcpy(payload.data(), corpus.tokens.data(), corpus.tokens.size_bytes());
  std::memcpy(payload.data() + ends - sizeof(Head), corpus.document_ends.data(),
              corpus.document_ends.size_bytes());
  Head head{};
  std::memcpy(head.magic, magic, sizeof(magic));
  head.version = version;
  head.token_bytes = sizeof(TokenId);
  head.token_count = corpus.tokens.size();
  head.document_count = corpus.document_ends.size();
  const std::string checksum = base::xxh3_128_hex(payload);
  CHECK(checksum.size() == sizeof(head.checksum));
  std::memcpy(head.checksum, checksum.data(), checksum.size());

  base::AtomicFile file(path, Exit::data);
  file.write(std::as_bytes(std::span(&head, 1)));
  file.write(payload);
  file.commit();
}

}  // namespace

Corpus make_corpus(std::vector<TokenId> tokens, std::vector<int64_t> document_ends) {
  auto owned = std::make_shared<Owned>(Owned{std::move(tokens), std::move(document_ends)});
  return {owned->tokens, owned->document_ends, owned};
}

Corpus tokenize(std::span<const Document> documents, const Tokenizer& tokenizer,
                const std::string& cache_folder) {
  std::string path;
  if (!cache_folder.empty()) {
    path = base::join_path(cache_folder, "tokens-" + cache_key(documents, tokenizer) + ".bin");
    if (std::optional<Corpus> cached = read_cache(path)) return *cached;
  }
  std::vector<TokenId> tokens;
  std::vector<int64_t> ends;
  Tokenizer::Cache words;
  for (const Document& document : documents) {
    tokenizer.append_encoded(document.text, {.bos = true, .eos = true}, words, tokens);
    // An empty text gives no document when the tokenizer has neither BOS nor EOS.
    const auto end = static_cast<int64_t>(tokens.size());
    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
  }
  const Corpus corpus = make_corpus(std::move(tokens), std::move(ends));
  if (path.empty()) return corpus;
  try {
    base::make_directories(cache_folder, Exit::data);
    write_cache(path, corpus);
  } catch (const base::Error&) {  // a full or read-only disk costs the next start a second
  }
  return corpus;
}

double unigram_entropy(std::span<const TokenId> tokens) {
  if (tokens.empty()) return 0;
  std::vector<int64_t> counts(static_cast<size_t>(*std::ranges::max_element(tokens)) + 1);
  for (const TokenId token : tokens) ++counts[static_cast<size_t>(token)];
  double entropy = 0;  // Shannon 1948, section 6: -sum p log p
  for (const int64_t count : counts) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / static_cast<double>(tokens.size());
    entropy -= p * std::log(p);
  }
  return entropy;
}

}  // namespace text
