// Every choice of a generator costs -log of its probability; what follows from the past costs
// nothing. The mean of these costs is the best loss there is on this sample.
#include "text/synthetic.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/philox.h"

namespace text {
namespace {

constexpr std::string_view tags = "CRAB1234";
constexpr int markov_domains = 4;
constexpr int markov_states = 16;
constexpr int markov_successors = 4;
constexpr int markov_length = 64;
constexpr uint64_t shortest = 4, longest = 12;  // of a copy
constexpr int bracket_pairs = 8;
// Successors of a state differ in likelihood, so that a chain is more than a set.
constexpr double successor_share[markov_successors] = {0.5, 0.25, 0.125, 0.125};

class Generator {
 public:
  Generator(uint64_t seed, DataSplit split) : seed_(seed), stream_(stream_of(split)) {}

  void document() {
    tokens.push_back(synthetic_bos);
    const uint64_t task = choose(tags.size());
    put(tags[task]);
    switch (tags[task]) {
      case 'C':
      case 'R':
        copy(tags[task]);
        break;
      case 'A':
        addition();
        break;
      case 'B':
        brackets();
        break;
      default:
        markov(tags[task] - '1');
    }
    tokens.push_back(synthetic_eos);
    ends.push_back(static_cast<int64_t>(tokens.size()));
  }

  std::vector<TokenId> tokens;
  std::vector<int64_t> ends;
  double cost = 0;  // nats

 private:
  static uint64_t stream_of(DataSplit split) {
    return base::fnv1a64(split == DataSplit::train ? "synthetic train" : "synthetic validation");
  }
  void put(char c) { tokens.push_back(static_cast<unsigned char>(c)); }
  void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  double uniform() {
    const auto words = base::philox_at(seed_, stream_, index_++);
    return base::uniform_f64(words[0], words[1]);
  }
  // One of `count`, all equally likely.
  uint64_t choose(uint64_t count) {
    cost += std::log(static_cast<double>(count));
    return static_cast<uint64_t>(uniform() * static_cast<double>(count));
  }

  void copy(char tag) {
    const uint64_t length = shortest + choose(longest - shortest + 1);
    std::string word;
    for (uint64_t i = 0; i < length; ++i) word += static_cast<char>('a' + choose(26));
    put(word);
    put('>');
    if (tag == 'R') word = std::string(word.rbegin(), word.rend());
    put(word);
  }

  void addition() {
    const uint64_t a = 100 + choose(900), b = 100 + choose(900);
    put(std::to_string(a) + "+" + std::to_string(b) + "=" + std::to_string(a + b));
  }

  void brackets() {
    std::string open;
    for (int opened = 0; opened < bracket_pairs || !open.empty();) {
      const bool may_open = opened < bracket_pairs;
      const bool opens = may_open && (open.empty() || choose(2) == 0);
      if (opens) {
        const uint64_t kind = choose(3);
        put("([{"[kind]);
        open += ")]}"[kind];
        ++opened;
      } else {
        put(open.back());
        open.pop_back();
      }
    }
  }

  // The chain of a domain is fixed: successor k of state s is a function of (domain, s, k).
  void markov(int domain) {
    auto state = choose(markov_states);
    put(static_cast<char>('a' + state));
    for (int i = 1; i < markov_length; ++i) {
      double left = uniform();
      uint64_t k = 0;
      while (k + 1 < markov_successors && left >= successor_share[k]) left -= successor_share[k++];
      cost -= std::log(successor_share[k]);
      const uint64_t start = base::hash_combine(static_cast<uint64_t>(domain), state);
      // Odd steps visit different states: 16 is a power of two.
      const uint64_t stride = 2 * (start >> 32 & 7) + 1;
      state = (start + k * stride) % markov_states;
      put(static_cast<char>('a' + state));
    }
  }

  uint64_t seed_, stream_, index_ = 0;
};

}  // namespace

SyntheticCorpus make_synthetic(uint64_t seed, DataSplit split, int64_t tokens) {
  Generator generator(seed, split);
  do {
    generator.document();
  } while (static_cast<int64_t>(generator.tokens.size()) < tokens);
  const double count = static_cast<double>(generator.tokens.size());
  return {make_corpus(std::move(generator.tokens), std::move(generator.ends)),
          generator.cost / count};
}

}  // namespace text
