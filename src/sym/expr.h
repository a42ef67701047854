// Whole-number expressions over sizes, in a normal form that uses no facts.
//
//   expr := const + sum coef_j * atom_j         terms in order of birth, never by printed name
//   atom := leaf | product of atoms | fdiv(e, e) | min(e...) | max(e...) | sel(cond, e, e)
//
// An Expr is an immutable value; two are equal exactly when their normal forms are. A leaf is a
// size that some op of a graph bears: its id is its place in the order of birth, unique within the
// graph. All arithmetic is checked: beyond 64 bits it throws UserError "size arithmetic exceeds 64
// bits".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sym {

enum class LeafKind : uint8_t {
  size,   // >= 0 in every run
  index,  // any sign; borne by tests only until an op bears one
};

struct Leaf {
  uint32_t id;
  LeafKind kind = LeafKind::size;
  auto operator<=>(const Leaf&) const = default;
};

struct Node;  // interned form, see expr.cpp
struct Condition;

class Expr {
 public:
  Expr() : Expr(0) {}
  Expr(int64_t value);                                    // NOLINT: a number is an expression
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}  // NOLINT
  Expr(Leaf leaf);                                        // NOLINT: so is a size

  std::optional<int64_t> constant() const;  // the value, when no leaf occurs
  std::optional<Leaf> leaf() const;         // the leaf, when the expression is just one
  uint64_t hash() const;
  bool operator==(const Expr& other) const;  // same normal form
  const Node* node() const { return node_.get(); }
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const Node> node_;  // shared: expressions are immutable values
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr sum(std::span<const Expr> terms);  // n-ary, O(n log n)
Expr product(std::span<const Expr> factors);
Expr fdiv(const Expr& a,
          const Expr& b);  // floor; a zero divisor is a UserError where it is evaluated
Expr min(std::span<const Expr> args);
Expr max(std::span<const Expr> args);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr mod(const Expr& a, const Expr& b);      // a - b * fdiv(a, b)
Expr ceildiv(const Expr& a, const Expr& b);  // fdiv(a + b - 1, b)
Expr align(const Expr& a, const Expr& b);    // b * ceildiv(a, b)

// expr >= 0 or expr == 0.
struct Condition {
  enum class Relation : uint8_t { nonnegative, zero };
  Relation relation;
  Expr expr;
  bool operator==(const Condition&) const = default;
};
Condition ge(const Expr& a, const Expr& b);
Condition le(const Expr& a, const Expr& b);
Condition lt(const Expr& a, const Expr& b);
Condition eq(const Expr& a, const Expr& b);
Expr sel(const Condition& condition, const Expr& then, const Expr& otherwise);

// Value of `e` where leaf i has value `values(i)`. Throws UserError on overflow or division by
// zero.
using LeafValue = std::function<int64_t(Leaf)>;
int64_t evaluate(const Expr& e, const LeafValue& values);
bool evaluate(const Condition& c, const LeafValue& values);

// The leaves of `e`, each once, in order of birth.
std::vector<Leaf> leaves(const Expr& e);

// `e` with each leaf replaced, in normal form again.
Expr substitute(const Expr& e, const std::function<Expr(Leaf)>& replacement);
Condition substitute(const Condition& c, const std::function<Expr(Leaf)>& replacement);

// Canonical text (graph-text 6.3): products first, constants last, terms in order of birth.
// `name` gives a leaf's name; a run of three or more leaves of one family whose coefficients are 1
// prints as "sum(u0..u7)": `family` gives (family name, number in it), or nullopt for a single
// leaf.
struct LeafNames {
  std::function<std::string(Leaf)> name;
  std::function<std::optional<std::pair<std::string, int64_t>>(Leaf)> family;
};
std::string print(const Expr& e, const LeafNames& names);
std::string print(const Condition& c, const LeafNames& names);  // "a == b", "a <= b" or "a >= b"
LeafNames plain_names();  // s0, s1, ... by id: for messages without a graph

}  // namespace sym
