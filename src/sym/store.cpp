// Facts as definitions, equalities, inequalities and numeric ranges.
#include "sym/store.h"

#include <algorithm>

namespace sym {
namespace {

// Bounds saturate; a missing bound is infinite, and 0 times infinity is 0.
int64_t saturate(__int128 x) {
  if (x >= no_high) return no_high;
  return x <= no_low ? no_low : static_cast<int64_t>(x);
}
bool infinite(int64_t x) { return x == no_low || x == no_high; }

int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? no_high : no_low;
  return saturate(static_cast<__int128>(a) * b);
}

// A low bound that saturates upwards is finite, and a high one downwards.
Interval finite(int64_t low, int64_t high) {
  return {std::min(low, no_high - 1), std::max(high, no_low + 1)};
}

Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return finite(low, high);
}

int64_t quotient_bound(int64_t a, int64_t d) {  // d >= 1
  if (d == no_high) return a < 0 ? -1 : 0;
  return infinite(a) ? a : floor_div(a, d);
}

Interval divide(const Interval& a, const Interval& d) {
  if (d.low < 1) return {};
  const auto [low, high] =
      std::minmax({quotient_bound(a.low, d.low), quotient_bound(a.low, d.high),
                   quotient_bound(a.high, d.low), quotient_bound(a.high, d.high)});
  return {low, high};
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace

bool Facts::State::mentions_defined(const Expr& e) const {
  return std::ranges::any_of(e.node()->terms,
                             [&](const Term& t) { return mentions_defined(*t.atom); });
}
bool Facts::State::mentions_defined(const Atom& a) const {
  if (a.kind == AtomKind::leaf) return definition(a.leaf) != nullptr;
  return std::ranges::any_of(a.factors, [&](const AtomRef& f) { return mentions_defined(*f); }) ||
         std::ranges::any_of(a.args, [&](const Expr& x) { return mentions_defined(x); });
}

Expr Facts::State::expand(const Expr& e, FactIds* used) const {
  if (values.empty() || !mentions_defined(e)) return e;
  return rewrite(e, [&](const AtomRef& a) -> std::optional<Expr> {
    if (a->kind == AtomKind::leaf) {
      const Derived* d = definition(a->leaf);
      if (!d) return {};
      add_ids(used, d->from);
      return expand(d->form, used);  // sizes that were defined later than this one
    }
    if (!mentions_defined(*a)) return {};
    std::vector<Expr> parts = operands(*a);
    for (Expr& p : parts) p = expand(p, used);
    return with_operands(*a, parts);
  });
}

// Facts that mention the leaf are brought to the form without it.
bool Facts::State::define(Leaf leaf, const Derived& value, FactIds* blame) {
  if (definitions.size() <= leaf.id) definitions.resize(leaf.id + 1);
  values.push_back(value);
  definitions[leaf.id] = static_cast<uint32_t>(values.size());
  // What the leaf's kind says now holds for its value.
  if (leaf.kind == LeafKind::size && !plainly_nonnegative(value.form) &&
      !add_inequality(value, blame)) {
    return false;
  }
  for (Derived& row : equalities.take_rows_with(leaf)) {
    row.form = expand(row.form, &row.from);
    sort_ids(row.from);
    if (!add_equality(row, FactKind::user_check, blame)) return false;
  }
  for (const uint32_t i : std::vector(leaf_facts[leaf.id])) {
    const Condition& c = facts[i].condition;
    if (c.relation == Condition::Relation::nonnegative && !add_inequality({c.expr, {i}}, blame)) {
      return false;
    }
  }
  return true;
}

bool Facts::State::add_equality(const Derived& equality, FactKind kind, FactIds* blame) {
  FactIds from = equality.from;
  const Expr e = equalities.reduce(expand(equality.form, &from), Basis::Keep::sign, &from);
  sort_ids(from);
  // A definition, or a size equal to one other thing, is replaced everywhere from now on.
  const Term* last = nullptr;
  for (const Term& t : e.node()->terms) {
    if (t.atom->kind == AtomKind::leaf && (!last || t.atom->birth >= last->atom->birth)) last = &t;
  }
  const bool short_form = kind == FactKind::definition || e.node()->terms.size() <= 2;
  if (last && short_form && (last->coef == 1 || last->coef == -1)) {
    const Expr rest = combine(e, -last->coef, from_atom(last->atom), 1);
    const std::vector<Leaf> inside = leaves(rest);
    const Leaf leaf = last->atom->leaf;
    if (inside.empty() || inside.back() < leaf) return define(leaf, {rest, std::move(from)}, blame);
  }
  return equalities.insert(e, std::move(from), blame);
}

bool Facts::State::add_inequality(const Derived& inequality, FactIds* blame) {
  FactIds from = inequality.from;
  const Expr e = tightened({Condition::Relation::nonnegative, expand(inequality.form, &from)}).expr;
  sort_ids(from);
  const auto& terms = e.node()->terms;
  if (terms.empty()) {
    if (e.node()->constant < 0) add_ids(blame, from);
    return e.node()->constant >= 0;
  }
  if (terms.size() == 1) return add_bound(terms[0], e.node()->constant, from, blame);
  const auto place = static_cast<uint32_t>(inequalities.size());
  for (const Term& t : terms) {
    Uses& u = uses[t.atom];
    (t.coef > 0 ? u.positive : u.negative).push_back(place);
  }
  inequalities.push_back({e, std::move(from)});
  return true;
}

// coef * atom + constant >= 0 where coef is 1 or -1.
bool Facts::State::add_bound(const Term& t, int64_t constant, const FactIds& from, FactIds* blame) {
  Range& r = ranges[t.atom];
  if (t.coef > 0 && constant != INT64_MIN && -constant > r.interval.low) {
    r.interval.low = -constant, r.low_from = from;
  }
  if (t.coef < 0 && constant < r.interval.high) r.interval.high = constant, r.high_from = from;
  FactIds both = from;
  const Interval now = range(t.atom, &both);
  if (now.low < now.high) return true;
  if (now.low > now.high) {
    add_ids(blame, both);
    return false;
  }
  return add_equality({from_atom(t.atom) - now.low, both}, FactKind::user_check, blame);
}

Interval Facts::State::range(const Expr& e, FactIds* used) const {
  __int128 low = e.node()->constant, high = low;
  bool has_low = true, has_high = true;
  for (const Term& t : e.node()->terms) {
    if (!has_low && !has_high) return {};
    const Interval part = range(t.atom, used) * Interval{t.coef, t.coef};
    has_low = has_low && !infinite(part.low), has_high = has_high && !infinite(part.high);
    low += part.low, high += part.high;
  }
  return finite(has_low ? saturate(low) : no_low, has_high ? saturate(high) : no_high);
}

Interval Facts::State::range(const AtomRef& atom, FactIds* used) const {
  const Atom& a = *atom;
  Interval out;
  switch (a.kind) {
    case AtomKind::leaf:
      break;
    case AtomKind::product:
      out = {1, 1};
      for (const AtomRef& f : a.factors) out = out * range(f, used);
      break;
    case AtomKind::fdiv:
      out = divide(range(a.args[0], used), range(a.args[1], used));
      break;
    case AtomKind::min:
    case AtomKind::max:
      out = range(a.args[0], used);
      for (const Expr& e : a.args) {
        const Interval other = range(e, used);
        const auto pick = [&](int64_t x, int64_t y) {
          return a.kind == AtomKind::min ? std::min(x, y) : std::max(x, y);
        };
        out = {pick(out.low, other.low), pick(out.high, other.high)};
      }
      break;
    case AtomKind::sel:
      out = hull(range(a.args[0], used), range(a.args[1], used));
      break;
    case AtomKind::sum:
      out = range(a.args[0], used);
      break;
  }
  if (a.nonnegative) out.low = std::max<int64_t>(out.low, 0);
  const auto known = ranges.find(atom);
  if (known == ranges.end()) return out;
  const Range& r = known->second;
  if (r.interval.low > out.low) out.low = r.interval.low, add_ids(used, r.low_from);
  if (r.interval.high < out.high) out.high = r.interval.high, add_ids(used, r.high_from);
  return out;
}

}  // namespace sym
