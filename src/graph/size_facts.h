// What is known about the sizes of a graph at one point of it: definitions of `const` and `let`
// sizes, and the facts of all nodes before that point (in straight-line code "before" is
// dominance).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "sym/facts.h"

namespace graph {

class SizeFacts {
 public:
  // Call once for each size, in order of birth.
  void define(const SizeInfo& size);
  // Throws UserError that shows both when `fact` contradicts an earlier one.
  void add(const Fact& fact, std::string origin, const sym::LeafNames& names);

  sym::Truth truth(const sym::Condition& condition) const;
  sym::Answer ask(const sym::Condition& condition) const;  // slower: with an example for messages
  bool prove(const sym::Condition& condition) const;
  bool prove_equal(const Expr& a, const Expr& b) const;
  Expr simplify(const Expr& e) const;  // the shortest form that facts show to be equal
  std::optional<int64_t> number(const Expr& e) const;  // when constants alone give it
  Expr expand(const Expr& e) const;  // constants and lets replaced by what they stand for

 private:
  std::vector<std::optional<Expr>> definitions_;  // by leaf id, fully expanded
  sym::Facts facts_;
  // Answers of `expand`, by normal form; the key keeps its node alive.
  mutable std::unordered_map<const sym::Node*, std::pair<Expr, Expr>> expanded_;
};

}  // namespace graph
