// What is known about sizes, indexed so that a question looks only at facts near its own sizes.
// For the files of this room only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sym/expr.h"
#include "sym/facts.h"
#include "sym/node.h"

namespace sym {

using FactIds = std::vector<uint32_t>;
void add_ids(FactIds* to, const FactIds& more);  // `to` may be null
void sort_ids(FactIds& ids);

// Inequality e >= 0 or equality e == 0 that follows from facts.
struct Derived {
  Expr form;
  FactIds from;
};

// Equalities in reduced echelon form: each row is solved for its atom that was born last, its
// pivot, and no pivot occurs in another row. So what `reduce` gives depends on the facts, not on
// their order, and it points to sizes born earlier.
class Basis {
 public:
  struct Row {
    Expr form;      // == 0; content 1, positive at the pivot
    AtomRef pivot;  // null: the row was replaced
    FactIds from;
    bool inside = false;  // may replace its pivot inside min, fdiv, ...: does not contain it there
  };
  enum class Keep : uint8_t { value, sign };  // sign: the result may be a positive multiple

  // False when the form can never be 0; then `blame` says why and nothing is changed.
  bool insert(const Expr& form, FactIds from, FactIds* blame);
  Expr reduce(const Expr& e, Keep keep, FactIds* used) const;
  std::vector<Derived> take_rows_with(Leaf leaf);  // removes them

  const std::vector<Row>& rows() const { return rows_; }
  std::vector<uint32_t> rows_with(const AtomRef& atom, size_t at_most) const;

 private:
  const Row* row_of(const AtomRef& pivot) const;
  std::vector<Derived> take_rows_around(const Atom& pivot);
  Expr reduce_sum(Expr e, Keep keep, int depth, FactIds* used) const;
  Expr reduce_inside(const Expr& e, int depth, FactIds* used) const;
  Expr reduce_at(const Expr& e, Keep keep, int depth, FactIds* used) const;
  std::optional<Expr> reduce_atom(const AtomRef& a, int depth, FactIds* used) const;
  std::optional<Expr> reduce_by_product(const AtomRef& a, FactIds* used) const;
  void index(uint32_t row);

  std::vector<Row> rows_;
  std::unordered_map<AtomRef, uint32_t, AtomHash, AtomEqual> pivots_;
  // Rows that mention an atom as a term, and product pivots by their first factor. May be stale.
  std::unordered_map<AtomRef, std::vector<uint32_t>, AtomHash, AtomEqual> uses_, products_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> leaf_rows_;
};

constexpr int64_t no_low = INT64_MIN, no_high = INT64_MAX;

struct Interval {
  int64_t low = no_low, high = no_high;
};

// Numeric bounds of one atom and the facts they rest on.
struct Range {
  Interval interval;
  FactIds low_from, high_from;
};

struct Uses {
  std::vector<uint32_t> positive, negative;  // inequalities with such a coefficient
};

struct Facts::State {
  std::vector<Fact> facts;
  std::unordered_map<uint32_t, std::vector<uint32_t>> leaf_facts;  // facts that mention a leaf

  // By leaf id: 1 + place in `values`, 0 for none. A defined leaf never occurs in what follows.
  std::vector<uint32_t> definitions;
  std::vector<Derived> values;
  Basis equalities;
  std::vector<Derived> inequalities;
  std::unordered_map<AtomRef, Uses, AtomHash, AtomEqual> uses;
  std::unordered_map<AtomRef, Range, AtomHash, AtomEqual> ranges;

  // As the facts were written, without definitions: what `simplify` may put into a type. There D
  // and H stay two names, though both are 256.
  Basis named;

  const Derived* definition(Leaf leaf) const {
    if (leaf.id >= definitions.size() || definitions[leaf.id] == 0) return nullptr;
    return &values[definitions[leaf.id] - 1];
  }
  Expr expand(const Expr& e, FactIds* used) const;  // defined leaves replaced by their values

  // `blame` of a false: the facts that contradict.
  bool add_equality(const Derived& equality, FactKind kind, FactIds* blame);
  bool add_inequality(const Derived& inequality, FactIds* blame);

  // What the numeric bounds of single sizes give. `used` may be null.
  Interval range(const AtomRef& a, FactIds* used) const;
  Interval range(const Expr& e, FactIds* used) const;

 private:
  bool mentions_defined(const Expr& e) const;
  bool mentions_defined(const Atom& a) const;
  bool add_bound(const Term& t, int64_t constant, const FactIds& from, FactIds* blame);
  bool define(Leaf leaf, const Derived& value, FactIds* blame);
};

}  // namespace sym
