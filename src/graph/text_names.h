// What a name means at a place of a graph text: a bare name is the one of its scope; where its
// scope has none (yet), the only one so far in the whole graph. Everything else is written with its
// path: %layers.1:out, at the top %:out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace graph::text {

class NameTable {
 public:
  struct Meaning {
    uint32_t count = 0;  // how many the name could mean: 0 unknown, 1 clear, more: ambiguous
    uint32_t id = 0;     // which, when count is 1
  };

  void define(ScopeId scope, std::string_view name, uint32_t id);
  Meaning bare(ScopeId scope, std::string_view name) const;
  std::optional<uint32_t> qualified(ScopeId scope, std::string_view name) const;
  std::vector<std::string> names() const;  // in order of their first definition, for suggestions

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  static uint64_t key(ScopeId scope, uint32_t number) {
    return static_cast<uint64_t>(scope.id) << 32 | number;
  }
  const uint32_t* number(std::string_view name) const;

  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;  // of each name
  std::vector<Meaning> anywhere_;                                             // by number
  std::unordered_map<uint64_t, uint32_t> here_;  // by scope and number; looked up only
};

}  // namespace graph::text
