// The search for a proof of e >= 0. A goal is replaced by a stronger one: goal - c * fact, with
// c > 0 so chosen that a term without a bound disappears, until the numeric bounds of what is left
// show that it is >= 0. Best first: fewest terms without a bound, then the shortest.
#include "sym/prover.h"

#include <algorithm>

#include "base/error.h"

namespace sym {
namespace {

constexpr size_t max_facts_a_term = 24;  // of the facts about one atom, those added first
constexpr size_t max_rows_a_term = 8;
constexpr size_t max_open_compared = 12;
constexpr size_t max_composites = 16;  // whose own bounds are tried for the other terms
constexpr size_t max_states = 600;
constexpr size_t max_terms_refined = 12;  // when every term has a bound already
constexpr int max_splits = 5;
constexpr size_t max_cases = 6;
constexpr int max_nested = 3;  // proofs that a divisor is positive, inside each other

bool same_sign(int64_t a, int64_t b) { return (a > 0) == (b > 0); }

// The first min, max or sel inside `e` that has none inside itself.
AtomRef innermost_choice(const Expr& e);
AtomRef innermost_choice(const AtomRef& a) {
  for (const AtomRef& f : a->factors) {
    if (AtomRef found = innermost_choice(f)) return found;
  }
  for (const Expr& e : a->args) {
    if (AtomRef found = innermost_choice(e)) return found;
  }
  const bool choice =
      a->kind == AtomKind::min || a->kind == AtomKind::max || a->kind == AtomKind::sel;
  return choice ? a : nullptr;
}
AtomRef innermost_choice(const Expr& e) {
  for (const Term& t : e.node()->terms) {
    if (AtomRef found = innermost_choice(t.atom)) return found;
  }
  return nullptr;
}

Expr replace_atom(const Expr& e, const Atom& atom, const Expr& value) {
  return rewrite(e, [&](const AtomRef& a) -> std::optional<Expr> {
    if (compare(*a, atom) == 0) return value;
    if (a->birth < atom.birth || a->kind == AtomKind::leaf) return {};
    std::vector<Expr> parts = operands(*a);
    bool changed = false;
    for (Expr& p : parts) {
      Expr better = replace_atom(p, atom, value);
      changed = changed || better.node() != p.node();
      p = std::move(better);
    }
    if (!changed) return {};
    return with_operands(*a, parts);
  });
}

// The min, max or sel to tell cases of: first one whose own bounds say nothing here.
AtomRef choice_in(const Expr& e) {
  for (const Term& t : e.node()->terms) {
    const AtomKind kind = t.atom->kind;
    if (kind == (t.coef < 0 ? AtomKind::max : AtomKind::min) || kind == AtomKind::sel) {
      return t.atom;
    }
  }
  return innermost_choice(e);
}

// One value that a min, max or sel can have, and the inequalities under which it has it.
struct Case {
  Expr value;
  std::vector<Expr> when;
};

std::vector<Case> cases_of(const Atom& a) {
  std::vector<Case> out;
  if (a.kind == AtomKind::sel) {
    const Expr& c = a.args[2];
    const Expr negative = combine(c, -1, -1, 1);
    if (a.relation == Condition::Relation::nonnegative) {
      return {{a.args[0], {c}}, {a.args[1], {negative}}};
    }
    return {{a.args[0], {c, scale(c, -1)}}, {a.args[1], {c - 1}}, {a.args[1], {negative}}};
  }
  for (const Expr& value : a.args) {
    Case one{value, {}};
    for (const Expr& other : a.args) {
      if (&other == &value) continue;
      one.when.push_back(a.kind == AtomKind::min ? other - value : value - other);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

bool Prover::is_open(const Term& t) const {
  if (t.coef > 0 && t.atom->nonnegative) return false;
  if (t.atom->kind == AtomKind::leaf && known_.ranges.empty()) return true;
  const Interval r = known_.range(t.atom, nullptr);
  return t.coef > 0 ? r.low == no_low : r.high == no_high;
}

void Prover::push(Search& s, Expr goal, size_t parent, FactIds from) {
  if (s.found) return;
  if (s.whole) goal = tightened({Condition::Relation::nonnegative, goal}).expr;
  const auto same = s.seen.equal_range(goal.hash());
  for (auto i = same.first; i != same.second; ++i) {
    if (s.states[i->second].goal == goal) return;
  }
  const auto& terms = goal.node()->terms;
  budget_ -= static_cast<int64_t>(terms.size()) + 1;
  const size_t open =
      static_cast<size_t>(std::ranges::count_if(terms, [&](const Term& t) { return is_open(t); }));
  const size_t place = s.states.size();
  s.seen.emplace(goal.hash(), place);
  s.states.push_back({goal, parent, std::move(from), open});
  if (open == 0) {
    const int64_t low = known_.range(goal, nullptr).low;
    s.best = std::max(s.best, low);
    if (s.whole && low >= 0) s.found = place;
  }
  s.queue.emplace_back(open, terms.size(), place);
  std::ranges::push_heap(s.queue, std::greater());
}

void Prover::accept(const Search& s) {
  for (size_t i = *s.found; i != SIZE_MAX; i = s.states[i].parent)
    add_ids(&used_, s.states[i].from);
  known_.range(s.states[*s.found].goal, &used_);
}

void Prover::run(Search& s, size_t most_states) {
  while (!s.found && !s.queue.empty() && budget_ > 0 && s.states.size() < most_states) {
    std::ranges::pop_heap(s.queue, std::greater());
    const size_t state = std::get<2>(s.queue.back());
    s.queue.pop_back();
    expand(s, state);
  }
}

bool Prover::search(const Expr& e) {
  Search s;
  FactIds from;
  push(s, e, SIZE_MAX, {});
  if (!s.found) push(s, known_.equalities.reduce(e, Basis::Keep::sign, &from), SIZE_MAX, from);
  run(s, max_states);
  if (s.found) accept(s);
  return s.found.has_value();
}

void Prover::expand(Search& s, size_t state) {
  const Expr goal = s.states[state].goal;
  std::vector<const Term*> open;
  for (const Term& t : goal.node()->terms) {
    if (is_open(t)) open.push_back(&t);
    close_division(s, state, t);
  }
  if (s.found) return;
  if (open.empty()) {
    size_t looked = 0;
    for (const Term& t : goal.node()->terms) {
      if (looked++ == max_terms_refined) break;
      close_term(s, state, t);
    }
    return;
  }
  // Each open term must go: the one with the fewest ways decides, none is a dead end.
  const Term* hardest = nullptr;
  size_t fewest = SIZE_MAX;
  for (const Term* t : std::span(open).first(std::min(open.size(), max_open_compared))) {
    const size_t ways = ways_to_close(goal, *t);
    if (ways == 0) return;
    if (ways < fewest) fewest = ways, hardest = t;
  }
  close_term(s, state, *hardest);
  if (!s.found && open.size() > 4) close_many(s, state, open);
}

// How many bounds a term has, as far as that is cheap to say; 0 only when there are none.
size_t Prover::ways_to_close(const Expr& goal, const Term& t) {
  --budget_;
  size_t ways = 0;
  if (const auto found = known_.uses.find(t.atom); found != known_.uses.end()) {
    ways += (t.coef > 0 ? found->second.positive : found->second.negative).size();
  }
  ways += known_.equalities.rows_with(t.atom, 2).size();
  const bool composite = t.atom->kind != AtomKind::leaf || !assumed_.empty();
  if (ways == 0 || composite) {
    ways = std::max(ways, bounds_of(goal, t, 2).size());
  }
  return ways;
}

void Prover::close_term(Search& s, size_t state, const Term& t) {
  const Expr goal = s.states[state].goal;
  for (const Derived& fact : bounds_of(goal, t, max_facts_a_term)) subtract(s, state, t, fact);
}

void Prover::subtract(Search& s, size_t state, const Term& t, const Derived& fact) {
  const int64_t c = t.coef, f = coefficient(fact.form, *t.atom);
  const int64_t g = common_divisor(c, f), times = f / g < 0 ? -(f / g) : f / g;
  if (!s.whole && times != 1) return;
  // times * goal >= -(times - 1) is enough: goal is a whole number.
  const Expr next = combine(s.states[state].goal, times, fact.form, c < 0 ? c / g : -(c / g));
  push(s, next + (times - 1), state, fact.from);
}

// Many terms at once, each by its shortest bound: sum(u0..u255) <= 256*T.
void Prover::close_many(Search& s, size_t state, const std::vector<const Term*>& open) {
  std::vector<Expr> parts{s.states[state].goal};
  FactIds from;
  for (const Term* t : open) {
    for (const Derived& fact : bounds_of(parts[0], *t, 2)) {
      const int64_t f = coefficient(fact.form, *t->atom);
      if (t->coef % f != 0 || fact.form.node()->terms.size() > 4) continue;
      parts.push_back(scale(fact.form, -(t->coef / f)));
      add_ids(&from, fact.from);
      break;
    }
  }
  push(s, sum(parts), state, std::move(from));
}

// For d >= 1: fdiv(a, d) + r >= 0 is a + r*d >= 0, and r - fdiv(a, d) >= 0 is (r+1)*d - a - 1 >= 0.
void Prover::close_division(Search& s, size_t state, const Term& t) {
  if (t.atom->kind != AtomKind::fdiv || t.coef > 1 || t.coef < -1 || !s.whole) return;
  const Expr &a = t.atom->args[0], &d = t.atom->args[1];
  if (d.constant()) return;  // bounds_by_kind says as much
  const size_t before = used_.size();
  if (nested_ == max_nested) return;
  ++nested_;
  const bool positive = search(d - 1);
  --nested_;
  if (!positive) return;
  FactIds from(used_.begin() + static_cast<std::ptrdiff_t>(before), used_.end());
  used_.resize(before);
  const Expr r = combine(s.states[state].goal, 1, from_atom(t.atom), -t.coef);
  push(s, t.coef > 0 ? a + r * d : (r + 1) * d - a - 1, state, std::move(from));
}

// Facts f >= 0 in which the term's atom has a coefficient of the same sign.
std::vector<Derived> Prover::bounds_of(const Expr& goal, const Term& t, size_t at_most) {
  std::vector<Derived> out;
  bounds_by_kind(t.atom, t, out);
  for (const Expr& e : assumed_) {
    const int64_t c = coefficient(e, *t.atom);
    if (c != 0 && same_sign(c, t.coef)) out.push_back({e, {}});
  }
  if (const auto found = known_.uses.find(t.atom); found != known_.uses.end()) {
    for (const uint32_t i : t.coef > 0 ? found->second.positive : found->second.negative) {
      if (out.size() >= at_most) break;
      out.push_back(known_.inequalities[i]);
    }
  }
  if (out.size() < at_most) {
    for (const uint32_t i : known_.equalities.rows_with(t.atom, max_rows_a_term)) {
      const Basis::Row& row = known_.equalities.rows()[i];
      const bool as_is = same_sign(coefficient(row.form, *t.atom), t.coef);
      out.push_back({as_is ? row.form : scale(row.form, -1), row.from});
    }
  }
  if (out.size() < at_most) bounds_of_product(goal, t, at_most, out);
  size_t composites = 0;
  for (const Term& other : goal.node()->terms) {
    if (out.size() >= at_most || composites == max_composites) break;
    if (other.atom->kind == AtomKind::leaf || other.atom == t.atom) continue;
    ++composites;
    bounds_by_kind(other.atom, t, out);
  }
  budget_ -= static_cast<int64_t>(out.size()) + 1;
  return out;
}

// What an atom says about itself, where that bounds the term: a >= min(a, b), and the remainder of
// a division by d is in [0, d).
void Prover::bounds_by_kind(const AtomRef& atom, const Term& t, std::vector<Derived>& out) {
  const Atom& a = *atom;
  const auto add = [&](Expr fact) {
    const int64_t c = coefficient(fact, *t.atom);
    if (c != 0 && same_sign(c, t.coef)) out.push_back({std::move(fact), {}});
  };
  if (a.kind == AtomKind::fdiv) {
    const auto d = a.args[1].constant();
    if (!d || *d < 1) return;
    const Expr remainder = combine(a.args[0], 1, from_atom(atom), -*d);
    add(remainder);
    add(combine(remainder, -1, *d - 1, 1));
  }
  if (a.kind == AtomKind::min || a.kind == AtomKind::max) {
    const int64_t sign = a.kind == AtomKind::min ? 1 : -1;
    for (const Expr& arg : a.args) add(combine(arg, sign, from_atom(atom), -sign));
  }
}

// Nonnegative times nonnegative: D*(T - u) >= 0.
void Prover::bounds_of_product(const Expr& goal, const Term& t, size_t at_most,
                               std::vector<Derived>& out) {
  const auto is_nonnegative = [&](const AtomRef& a) { return known_.range(a, nullptr).low >= 0; };
  const auto add = [&](const Expr& form, std::vector<AtomRef> by, const FactIds& from) {
    if (out.size() >= at_most || !std::ranges::all_of(by, is_nonnegative)) return;
    budget_ -= static_cast<int64_t>(form.node()->terms.size());
    Derived d{form * from_factors(std::move(by)), from};
    if (coefficient(d.form, *t.atom) != 0) out.push_back(std::move(d));
  };
  const auto factors = factors_of(t.atom);
  for (size_t i = 0; factors.size() > 1 && i < factors.size(); ++i) {
    std::vector<AtomRef> others(factors.begin(), factors.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Term one{factors[i], t.coef};
    FactIds from;
    const Interval r = known_.range(factors[i], &from);
    const Expr self = from_atom(factors[i]);
    if (t.coef < 0 && r.high != no_high) add(r.high - self, others, from);
    if (t.coef > 0 && r.low > 0) add(self - r.low, others, from);
    for (const Derived& fact : bounds_of(0, one, 4)) add(fact.form, others, fact.from);
    if (factors[i]->kind == AtomKind::fdiv && t.coef < 0) {  // d * fdiv(a, d) <= a
      const Expr& d = factors[i]->args[1];
      if (d == from_factors(others) && known_.range(d, nullptr).low >= 1) {
        out.push_back({factors[i]->args[0] - from_atom(t.atom), {}});
      }
    }
  }
  // x*y - low(y)*x >= 0 bounds x by a product that the goal has.
  for (const Term& p : goal.node()->terms) {
    if (t.coef > 0 || p.atom->kind != AtomKind::product) break;  // products stand first
    --budget_;
    if (p.coef < 0) continue;
    const auto left = quotient(p.atom, factors);
    if (!left || left->size() != 1) continue;
    FactIds from;
    const Interval r = known_.range((*left)[0], &from);
    if (r.low >= 1 && r.low != no_high) {
      add(from_atom((*left)[0]) - r.low, {factors.begin(), factors.end()}, from);
    }
  }
}

bool Prover::prove_by_cases(const Expr& start, int splits) {
  const size_t before = used_.size();
  const Expr e = known_.equalities.reduce(start, Basis::Keep::sign, &used_);
  const AtomRef choice = splits > 0 && budget_ > 0 ? choice_in(e) : nullptr;
  const auto cases = choice ? cases_of(*choice) : std::vector<Case>();
  bool all = choice && cases.size() <= max_cases;
  for (const Case& one : cases) {
    if (!all) break;
    const auto impossible = [&](const Expr& c) { return search(combine(c, -1, -1, 1)); };
    if (std::ranges::any_of(one.when, impossible)) continue;
    const size_t assumed = assumed_.size();
    assumed_.insert(assumed_.end(), one.when.begin(), one.when.end());
    all = prove(replace_atom(e, *choice, one.value), splits - 1);
    assumed_.resize(assumed);
  }
  if (!all) used_.resize(before);
  return all;
}

bool Prover::prove(const Expr& e, int splits) { return search(e) || prove_by_cases(e, splits); }

bool Prover::nonnegative(const Expr& e) { return prove(e, max_splits); }

bool Prover::zero(const Expr& e) {
  const size_t before = used_.size();
  if (known_.equalities.reduce(e, Basis::Keep::sign, &used_) == Expr(0)) return true;
  used_.resize(before);
  if (nonnegative(e) && nonnegative(scale(e, -1))) return true;
  used_.resize(before);
  return false;
}

std::optional<bool> Prover::decide(Condition::Relation relation, const Expr& e) {
  if (relation == Condition::Relation::nonnegative) {
    if (nonnegative(e)) return true;
    if (nonnegative(combine(e, -1, -1, 1))) return false;
    return {};
  }
  if (zero(e)) return true;
  const Expr reduced = known_.equalities.reduce(e, Basis::Keep::sign, &used_);
  if (plain_truth({relation, reduced}) == false) return false;
  used_.clear();
  if (nonnegative(e - 1) || nonnegative(combine(e, -1, -1, 1))) return false;
  return {};
}

// Leaves nothing in `used_` when the answer is unknown.
std::optional<bool> Prover::truth(const Condition& c) {
  used_.clear();
  const Expr e = known_.expand(c.expr, &used_);
  if (const auto plain = plain_truth({c.relation, e})) return plain;
  // Proofs may form sums beyond 64 bits. Then there is no proof, which is not the user's error.
  try {
    FactIds definitions = std::move(used_);
    used_.clear();
    budget_ += 40 * static_cast<int64_t>(e.node()->terms.size());
    const auto known = decide(c.relation, e);
    if (known) add_ids(&used_, definitions);
    if (!known) used_.clear();
    return known;
  } catch (const base::UserError&) {
    assumed_.clear();
    used_.clear();
    return {};
  }
}

int64_t Prover::low(const Expr& start) {
  const Expr e = known_.expand(start, nullptr);
  try {
    Search s;
    s.whole = false;
    push(s, e, SIZE_MAX, {});
    push(s, known_.equalities.reduce(e, Basis::Keep::value, nullptr), SIZE_MAX, {});
    run(s, max_states / 8);
    return s.best;
  } catch (const base::UserError&) {
    return known_.range(e, nullptr).low;
  }
}

FactIds Prover::used() {
  sort_ids(used_);
  return used_;
}

}  // namespace sym
