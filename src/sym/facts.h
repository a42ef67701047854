// Facts about sizes and the questions that can be asked of them.
//
// Facts are only ever added, each with its origin. A question has three answers. "Unknown" is a
// normal one: it comes with a sample assignment that satisfies every fact and violates the
// question, where the search finds one. docs/sizes.md introduces all this; `prover.cpp` has the
// proof search.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sym/expr.h"

namespace sym {

enum class FactKind : uint8_t {
  definition,   // free: a named constant, shape arithmetic
  op_contract,  // guaranteed by the op that bears the sizes, verified when they are read
  user_check,   // enforced by a check op at run time
};

struct FactId {
  uint32_t value;
  auto operator<=>(const FactId&) const = default;
};

struct Fact {
  Condition condition;
  FactKind kind;
  std::string origin;  // "sizes at layers.1.moe:count, model/moe.cpp:212"
};

enum class Truth : uint8_t { yes, no, unknown };

struct Answer {
  Truth truth;
  std::vector<FactId> used;  // the facts a yes or no rests on
  std::vector<std::pair<Leaf, int64_t>>
      counterexample;  // of an unknown or a no, when one was found
};

// A growing set of facts over the sizes of one graph. Copying is cheap enough for a branch.
class Facts {
 public:
  Facts();
  ~Facts();
  Facts(const Facts&);
  Facts(Facts&&) noexcept;
  Facts& operator=(const Facts&);
  Facts& operator=(Facts&&) noexcept;

  // Throws UserError that shows both origins when `fact` contradicts what is known.
  // With `names` it calls the sizes as the graph does.
  FactId add(Fact fact);
  FactId add(Fact fact, const LeafNames& names);
  const Fact& fact(FactId id) const;

  Answer ask(const Condition& question) const;
  Truth truth(const Condition& question) const;  // cheaper: looks for no counterexample

  // The named policies (symbolic-shapes 6.6). `prove`: an optimisation may rely on yes.
  bool prove(const Condition& question) const { return truth(question) == Truth::yes; }
  bool prove_equal(const Expr& a, const Expr& b) const;

  // `e` with min, max and sel resolved and equal sizes replaced by earlier ones, as far as the
  // facts show, never by a longer form. Independent of the order in which the facts were added.
  Expr simplify(const Expr& e) const;

  // Bounds that follow from the facts; INT64_MIN / INT64_MAX where there is none.
  std::pair<int64_t, int64_t> bounds(const Expr& e) const;

  // A value for heuristics, consistent with the facts where one is found. Never for legality.
  int64_t hint(const Expr& e, const LeafValue& hints) const;

  struct State;  // for this room: store.h

 private:
  std::shared_ptr<State> state_;  // shared by copies until one of them adds a fact
};

// "cannot show rows >= total; example: N=8, total=9": the text of an unknown for users.
std::string explain(const Answer& answer, const Condition& question, const LeafNames& names);

}  // namespace sym
