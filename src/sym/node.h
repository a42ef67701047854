// The inside of an expression; for the files of this room only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sym/expr.h"

namespace sym {

// `sum` wraps a sum as a factor, where distributing a product would give too many terms.
enum class AtomKind : uint8_t { product, leaf, fdiv, min, max, sel, sum };

struct Atom;
using AtomRef = std::shared_ptr<const Atom>;  // shared by every expression that mentions it

struct Term {
  AtomRef atom;
  int64_t coef;  // never 0
};

// const + sum coef * atom, terms in the order of `compare`.
struct Node {
  std::vector<Term> terms;
  int64_t constant = 0;
  uint64_t hash = 0;
};

struct Atom {
  AtomKind kind;
  Leaf leaf{};
  std::vector<AtomRef> factors;  // product: sorted, two or more
  std::vector<Expr> args;  // fdiv: a, b; min and max; sel: then, otherwise, condition; sum: one
  Condition::Relation relation{};  // sel
  uint64_t hash = 0;
  uint64_t order = 0;   // decides most comparisons: products first, then birth, then kind
  uint32_t birth = 0;   // greatest leaf id inside
  uint32_t weight = 1;  // atoms inside, itself included; bounds the cost of every walk
  uint16_t depth = 0;
  bool nonnegative = false;  // whatever the sizes are
};

// A total order that knows nothing of printed names. 0 exactly when the normal forms are equal.
int compare(const Atom& a, const Atom& b);
int compare(const Expr& a, const Expr& b);

struct AtomHash {
  size_t operator()(const AtomRef& a) const { return a->hash; }
};
struct AtomEqual {
  bool operator()(const AtomRef& a, const AtomRef& b) const {
    return a == b || (a->hash == b->hash && compare(*a, *b) == 0);
  }
};

int64_t narrow(__int128 x);  // UserError beyond 64 bits
int64_t add64(int64_t a, int64_t b);
int64_t mul64(int64_t a, int64_t b);
int64_t floor_div(int64_t a, int64_t b);       // b != 0
int64_t common_divisor(int64_t a, int64_t b);  // >= 0

Expr from_terms(std::vector<Term> sorted_terms, int64_t constant);
Expr collect(std::vector<Term> terms, int64_t constant);  // any order, repeats allowed
Expr from_atom(AtomRef atom);
Expr make_atom(Atom a);                                            // fills hash, order, birth, ...
Expr combine(const Expr& a, int64_t x, const Expr& b, int64_t y);  // x*a + y*b
Expr scale(const Expr& a, int64_t x);
int64_t coefficient(const Expr& e, const Atom& a);  // 0 when absent
int64_t content(const Expr& e);                     // gcd of the coefficients, constant left out
uint64_t weight(const Expr& e);                     // grows with the length of the printed form

// e >= 0 by the kinds of its sizes alone. False says nothing.
bool plainly_nonnegative(const Expr& e, int depth = 2);
std::optional<bool> plain_truth(const Condition& c);

// The condition with the common divisor of its coefficients divided out, rounded to whole numbers.
Condition tightened(const Condition& c);

// What an atom is made of, and the same kind of atom made of something else.
std::vector<Expr> operands(const Atom& a);
Expr with_operands(const Atom& a, std::span<const Expr> operands);

// `e` with those atoms of its sum replaced for which `f` has something.
using AtomRewrite = std::function<std::optional<Expr>(const AtomRef&)>;
Expr rewrite(const Expr& e, const AtomRewrite& f);

// The factors of a term: those of a product, or the atom itself.
std::span<const AtomRef> factors_of(const AtomRef& a);
// a / b for products of atoms: the factors left over, when all of b's are in a.
std::optional<std::vector<AtomRef>> quotient(const AtomRef& a, std::span<const AtomRef> b);
Expr from_factors(std::vector<AtomRef> sorted_factors);  // 1 when empty

}  // namespace sym
