// Proofs of inequalities from facts: symbolic-shapes 6.5, layers L1 to L5 and L7.
// For the files of this room only.
#pragma once

#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sym/store.h"

namespace sym {

// One run of the prover: its assumptions, what it used, and what it may still spend.
class Prover {
 public:
  explicit Prover(const Facts::State& known, int64_t budget = default_budget)
      : known_(known), budget_(budget) {}

  std::optional<bool> truth(const Condition& c);
  int64_t low(const Expr& e);  // a number e is never below, no_low if none found
  FactIds used();              // what the last truth rests on

  // Counted in terms looked at, not in seconds: the same graph compiles the same way everywhere.
  static constexpr int64_t default_budget = 30'000;

 private:
  struct State {
    Expr goal;  // >= 0 implies the question, by way of `parent` and `from`
    size_t parent;
    FactIds from;
    size_t open = 0;  // terms that nothing bounds
  };
  // The search for one question.
  struct Search {
    std::vector<State> states;
    std::vector<std::tuple<size_t, size_t, size_t>> queue;  // a heap: open terms, length, state
    std::unordered_multimap<uint64_t, size_t> seen;
    std::optional<size_t> found;
    bool whole = true;  // goals may be multiplied and rounded: only their sign counts
    int64_t best = no_low;
  };

  std::optional<bool> decide(Condition::Relation relation, const Expr& e);
  bool nonnegative(const Expr& e);
  bool zero(const Expr& e);
  bool search(const Expr& e);
  void run(Search& s, size_t most_states);
  bool prove(const Expr& e, int splits);
  bool prove_by_cases(const Expr& e, int splits);
  void push(Search& s, Expr goal, size_t parent, FactIds from);
  void expand(Search& s, size_t state);
  size_t ways_to_close(const Expr& goal, const Term& t);
  void close_term(Search& s, size_t state, const Term& t);
  void close_many(Search& s, size_t state, const std::vector<const Term*>& open);
  void close_division(Search& s, size_t state, const Term& t);
  void subtract(Search& s, size_t state, const Term& t, const Derived& fact);
  std::vector<Derived> bounds_of(const Expr& goal, const Term& t, size_t at_most);
  void bounds_by_kind(const AtomRef& atom, const Term& t, std::vector<Derived>& out);
  void bounds_of_product(const Expr& goal, const Term& t, size_t at_most,
                         std::vector<Derived>& out);
  bool is_open(const Term& t) const;
  void accept(const Search& s);

  const Facts::State& known_;
  std::vector<Expr> assumed_;  // >= 0 in the case at hand
  FactIds used_;
  int64_t budget_;
  int nested_ = 0;
};

}  // namespace sym
