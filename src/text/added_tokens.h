// Added tokens: found in a text before anything else looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/bpe.h"
#include "text/tokenizer_json.h"

namespace text {

// A stretch of a text: an added token, or what lies between.
struct Section {
  std::string_view text;
  std::optional<TokenId> id;
};

class AddedTokenMatcher {
 public:
  void add(const AddedToken& token, TokenId id);
  // Leftmost matches, the longest at each place, that do not overlap.
  void split(std::string_view text, std::vector<Section>& out) const;

 private:
  struct Node {
    int32_t token = -1;  // index into ids_
  };
  struct Entry {
    TokenId id;
    bool lstrip, rstrip;
  };
  int32_t child(int32_t node, char byte) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::unordered_map<uint64_t, int32_t> children_;  // (node, byte) -> node; looked up only
  std::vector<Entry> entries_;
  bool first_bytes_[256] = {};
};

}  // namespace text
