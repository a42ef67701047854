// Equalities of sizes in reduced echelon form.
#include <algorithm>

#include "sym/node.h"
#include "sym/store.h"

namespace sym {
namespace {

constexpr int max_rounds = 8;  // of rewriting one expression; more means rows that feed each other
constexpr int max_nesting = 16;

// Which atom a row is solved for: the one born last; a size rather than what is computed of it.
bool eliminated_before(const Atom& a, const Atom& b) {
  if (a.birth != b.birth) return a.birth > b.birth;
  const bool leaf = a.kind == AtomKind::leaf, other = b.kind == AtomKind::leaf;
  if (leaf != other) return leaf;
  if (a.weight != b.weight) return a.weight > b.weight;
  return compare(a, b) > 0;
}

bool occurs_in(const Atom& part, const Atom& whole) {
  if (compare(part, whole) == 0) return true;
  for (const AtomRef& f : whole.factors) {
    if (occurs_in(part, *f)) return true;
  }
  for (const Expr& e : whole.args) {
    for (const Term& t : e.node()->terms) {
      if (occurs_in(part, *t.atom)) return true;
    }
  }
  return false;
}

}  // namespace

void add_ids(FactIds* to, const FactIds& more) {
  if (to) to->insert(to->end(), more.begin(), more.end());
}

void sort_ids(FactIds& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

const Basis::Row* Basis::row_of(const AtomRef& pivot) const {
  const auto found = pivots_.find(pivot);
  return found == pivots_.end() ? nullptr : &rows_[found->second];
}

void Basis::index(uint32_t row) {
  for (const Term& t : rows_[row].form.node()->terms) uses_[t.atom].push_back(row);
  for (const Leaf leaf : leaves(rows_[row].form)) leaf_rows_[leaf.id].push_back(row);
}

bool Basis::insert(const Expr& form, FactIds from, FactIds* blame) {
  Expr e = reduce(form, Keep::sign, &from);
  sort_ids(from);
  if (e == Expr(0)) return true;
  const int64_t g = content(e);
  if (g == 0 || e.node()->constant % g != 0) {
    add_ids(blame, from);
    return false;
  }
  const auto& terms = e.node()->terms;
  const Term& last = *std::ranges::min_element(
      terms, [](const Term& a, const Term& b) { return eliminated_before(*a.atom, *b.atom); });
  Row row{.form = e, .pivot = last.atom, .from = std::move(from)};
  const Condition unit = tightened({Condition::Relation::zero, scale(e, last.coef < 0 ? -1 : 1)});
  row.form = unit.expr;
  row.inside = std::ranges::none_of(
      terms, [&](const Term& t) { return t.atom != row.pivot && occurs_in(*row.pivot, *t.atom); });
  const auto place = static_cast<uint32_t>(rows_.size());
  for (const uint32_t other : rows_with(row.pivot, SIZE_MAX)) {
    Row& r = rows_[other];
    const int64_t p = coefficient(row.form, *row.pivot), c = coefficient(r.form, *row.pivot);
    const int64_t d = common_divisor(p, c);
    const Expr less = combine(r.form, p / d, row.form, -(c / d));
    r.form = tightened({Condition::Relation::zero, less}).expr;
    add_ids(&r.from, row.from);
    sort_ids(r.from);
    index(other);
  }
  pivots_[row.pivot] = place;
  if (row.pivot->kind == AtomKind::product) products_[row.pivot->factors[0]].push_back(place);
  rows_.push_back(std::move(row));
  index(place);
  // Rows that hold the pivot inside a min or fdiv take the new form too, whatever came first.
  if (!rows_[place].inside) return true;
  for (Derived& other : take_rows_around(*rows_[place].pivot)) {
    if (!insert(other.form, std::move(other.from), blame)) return false;
  }
  return true;
}

std::vector<Derived> Basis::take_rows_around(const Atom& pivot) {
  std::vector<Derived> out;
  for (const uint32_t i : leaf_rows_[pivot.birth]) {
    Row& r = rows_[i];
    const auto holds_pivot = [&](const Term& t) {
      return compare(*t.atom, pivot) != 0 && occurs_in(pivot, *t.atom);
    };
    if (!r.pivot || !std::ranges::any_of(r.form.node()->terms, holds_pivot)) continue;
    pivots_.erase(r.pivot);
    r.pivot = nullptr;
    out.push_back({r.form, r.from});
  }
  return out;
}

std::vector<uint32_t> Basis::rows_with(const AtomRef& atom, size_t at_most) const {
  std::vector<uint32_t> out;
  const auto found = uses_.find(atom);
  if (found == uses_.end()) return out;
  for (const uint32_t i : found->second) {
    if (out.size() == at_most) break;
    if (rows_[i].pivot && coefficient(rows_[i].form, *atom) != 0 &&
        std::ranges::find(out, i) == out.end())
      out.push_back(i);
  }
  return out;
}

std::vector<Derived> Basis::take_rows_with(Leaf leaf) {
  std::vector<Derived> out;
  const auto found = leaf_rows_.find(leaf.id);
  if (found == leaf_rows_.end()) return out;
  for (const uint32_t i : found->second) {
    Row& r = rows_[i];
    const std::vector<Leaf> inside = leaves(r.form);
    if (!r.pivot || !std::ranges::binary_search(inside, leaf)) continue;
    pivots_.erase(r.pivot);
    r.pivot = nullptr;
    out.push_back({r.form, r.from});
  }
  leaf_rows_.erase(found);
  return out;
}

Expr Basis::reduce(const Expr& e, Keep keep, FactIds* used) const {
  return pivots_.empty() ? e : reduce_at(e, keep, 0, used);
}

Expr Basis::reduce_at(const Expr& start, Keep keep, int depth, FactIds* used) const {
  Expr e = start;
  for (int round = 0; round < max_rounds && depth < max_nesting; ++round) {
    Expr next = reduce_sum(reduce_inside(e, depth, used), keep, depth, used);
    if (next.node() == e.node()) break;
    e = std::move(next);
  }
  return e;
}

Expr Basis::reduce_sum(Expr e, Keep keep, int depth, FactIds* used) const {
  std::vector<const Row*> hits;
  for (const Term& t : e.node()->terms) {
    const Row* row = row_of(t.atom);
    if (row && (depth == 0 || row->inside)) hits.push_back(row);
  }
  for (const Row* row : hits) {
    const int64_t p = coefficient(row->form, *row->pivot), c = coefficient(e, *row->pivot);
    const int64_t d = common_divisor(p, c);
    if (p != d && keep == Keep::value) continue;
    e = combine(e, p / d, row->form, -(c / d));
    add_ids(used, row->from);
  }
  return e;
}

Expr Basis::reduce_inside(const Expr& e, int depth, FactIds* used) const {
  return rewrite(e, [&](const AtomRef& a) -> std::optional<Expr> {
    if (a->kind == AtomKind::leaf) return {};
    return reduce_atom(a, depth, used);
  });
}

std::optional<Expr> Basis::reduce_atom(const AtomRef& a, int depth, FactIds* used) const {
  const auto inert = [&](const AtomRef& f) {
    return f->kind == AtomKind::leaf && !pivots_.contains(f);
  };
  if (a->kind == AtomKind::product && std::ranges::all_of(a->factors, inert)) {
    return reduce_by_product(a, used);
  }
  std::vector<Expr> parts = operands(*a);
  bool changed = false;
  for (Expr& p : parts) {
    Expr better = reduce_at(p, Keep::value, depth + 1, used);
    changed = changed || better.node() != p.node();
    p = std::move(better);
  }
  if (changed) return with_operands(*a, parts);
  return a->kind == AtomKind::product ? reduce_by_product(a, used) : std::nullopt;
}

// K*T*D where K*T has a row: D times that row.
std::optional<Expr> Basis::reduce_by_product(const AtomRef& a, FactIds* used) const {
  if (products_.empty()) return {};
  for (const AtomRef& first : a->factors) {
    const auto found = products_.find(first);
    if (found == products_.end()) continue;
    for (const uint32_t i : found->second) {
      const Row& row = rows_[i];
      if (!row.pivot || !row.inside || coefficient(row.form, *row.pivot) != 1) continue;
      auto left = quotient(a, row.pivot->factors);
      if (!left || left->empty()) continue;
      add_ids(used, row.from);
      return from_factors(std::move(*left)) * (from_atom(row.pivot) - row.form);
    }
  }
  return {};
}

}  // namespace sym
