// Random size expressions for tests: built twice, as the normal form and as a plain tree whose
// value is computed without any rule.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "sym/expr.h"

namespace sym_test {

using sym::Expr;
using sym::Leaf;

struct Tree;
using TreeRef = std::shared_ptr<const Tree>;
struct Tree {
  enum class Kind { number, leaf, add, sub, mul, fdiv, min, max, mod, sel_nonnegative, sel_zero };
  Kind kind;
  int64_t number = 0;
  std::vector<TreeRef> parts;  // sel: condition, then, otherwise
};

// The value by definition; nothing where a divisor is 0 or a part leaves 62 bits.
std::optional<int64_t> value(const Tree& t, std::span<const int64_t> leaves);
Expr normal_form(const Tree& t, std::span<const Leaf> leaves);

// A relation between trees, in both forms.
struct Relation {
  TreeRef tree;
  bool equality;
  sym::Condition condition;
};
std::optional<bool> holds(const Relation& r, std::span<const int64_t> leaves);

struct RandomSizes {
  explicit RandomSizes(uint64_t seed) : random(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  TreeRef tree(int depth, int64_t leaf_count);
  TreeRef linear(int64_t leaf_count);  // small coefficients, no products
  Relation relation(std::span<const Leaf> leaves);
  std::mt19937_64 random;
  bool products = true;  // z3 and brute force are slow with them
  bool symbolic_divisors = true;
};

}  // namespace sym_test
