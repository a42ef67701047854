// Floor division, min, max and selection in normal form.
#include <algorithm>

#include "base/error.h"
#include "sym/expr.h"
#include "sym/node.h"

namespace sym {
namespace {

// Comparing each operand of min and max with each other one is quadratic: only up to so many.
constexpr size_t max_pairwise = 24;

Expr division_atom(const Expr& a, const Expr& b) {
  Atom q{.kind = AtomKind::fdiv};
  q.args = {a, b};
  return make_atom(std::move(q));
}

Expr divided(const Expr& e,
             int64_t g) {  // every coefficient is a multiple of g, rounds the constant
  std::vector<Term> terms = e.node()->terms;
  for (Term& t : terms) t.coef /= g;
  return from_terms(std::move(terms), floor_div(e.node()->constant, g));
}

// fdiv(x, c) + k where x, c > 0 and k are found in `e`, or nothing.
const Atom* inner_division(const Expr& e) {
  const Node& n = *e.node();
  if (n.terms.size() != 1 || n.terms[0].coef != 1) return nullptr;
  const Atom& a = *n.terms[0].atom;
  if (a.kind != AtomKind::fdiv) return nullptr;
  const auto c = a.args[1].constant();
  return c && *c > 0 ? &a : nullptr;
}

Expr divide_by_number(const Expr& a, int64_t d) {
  if (d == 1) return a;
  std::vector<Term> whole, rest;
  for (const Term& t : a.node()->terms) {
    if (t.coef % d == 0) {
      whole.push_back({t.atom, t.coef / d});
    } else {
      rest.push_back(t);
    }
  }
  const int64_t quotient = floor_div(a.node()->constant, d);
  const Expr pulled = from_terms(std::move(whole), quotient);
  if (rest.empty()) return pulled;
  const int64_t left =
      static_cast<int64_t>(a.node()->constant - static_cast<__int128>(quotient) * d);
  Expr inner = from_terms(std::move(rest), left);
  // floor((g*x + c) / (g*d)) = floor((x + floor(c/g)) / d)
  if (const int64_t g = common_divisor(content(inner), d); g > 1) inner = divided(inner, g), d /= g;
  if (const Atom* q = inner_division(inner)) {
    const int64_t c = *q->args[1].constant();
    int64_t both;
    if (!__builtin_mul_overflow(c, d, &both)) {
      const Expr k = inner.node()->constant;
      return pulled + divide_by_number(q->args[0] + k * Expr(c), both);
    }
  }
  if (plainly_nonnegative(inner) && plainly_nonnegative(Expr(d) - 1 - inner)) return pulled;
  return pulled + division_atom(inner, d);
}

// floor((m*k + r) / m) = k + floor(r / m) for a product m.
Expr divide_by_product(const Expr& a, const Expr& b) {
  const Term& m = b.node()->terms[0];
  std::vector<Term> rest;
  std::vector<Expr> whole;
  for (const Term& t : a.node()->terms) {
    const auto left = quotient(t.atom, factors_of(m.atom));
    if (left && t.coef % m.coef == 0) {
      whole.push_back(scale(from_factors(*left), t.coef / m.coef));
    } else {
      rest.push_back(t);
    }
  }
  const Expr inner = from_terms(std::move(rest), a.node()->constant);
  if (inner != Expr(0)) whole.push_back(division_atom(inner, b));
  return sum(whole);
}

Expr divide(Expr a, Expr b) {
  const Node& d = *b.node();
  if (d.terms[0].coef < 0) return divide(scale(a, -1), scale(b, -1));
  const int64_t g = common_divisor(common_divisor(content(a), a.node()->constant),
                                   common_divisor(content(b), b.node()->constant));
  if (g > 1) return divide(divided(a, g), divided(b, g));
  if (a == Expr(0)) return 0;
  if (const int64_t c = coefficient(a, *d.terms[0].atom); c % d.terms[0].coef == 0) {
    const Expr times = c / d.terms[0].coef;
    if (a == b * times) return times;
  }
  if (plainly_nonnegative(a) && plainly_nonnegative(b - a - 1)) return 0;
  if (d.terms.size() == 1 && d.constant == 0) return divide_by_product(a, b);
  return division_atom(a, b);
}

// Longer sums first, numbers last, else in order of birth: min(sum(u0..u7), K*T), max(u0, 3).
bool operand_order(const Expr& a, const Expr& b) {
  const size_t n = a.node()->terms.size(), m = b.node()->terms.size();
  return n != m ? n > m : compare(a, b) < 0;
}

bool same_terms(const Expr& a, const Expr& b) {
  return std::ranges::equal(a.node()->terms, b.node()->terms, [](const Term& s, const Term& t) {
    return s.coef == t.coef && compare(*s.atom, *t.atom) == 0;
  });
}

bool dominates(AtomKind kind, const Expr& a, const Expr& b) {
  return plainly_nonnegative(kind == AtomKind::max ? a - b : b - a);
}

// Flattened, sorted, without those operands that another one makes superfluous.
std::vector<Expr> surviving_operands(AtomKind kind, std::span<const Expr> args) {
  std::vector<Expr> flat;
  for (const Expr& e : args) {
    const Node& n = *e.node();
    if (n.terms.size() == 1 && n.terms[0].coef == 1 && n.terms[0].atom->kind == kind) {
      for (const Expr& inner : n.terms[0].atom->args) flat.push_back(inner + n.constant);
    } else {
      flat.push_back(e);
    }
  }
  std::ranges::sort(flat, operand_order);
  std::vector<Expr> out;
  for (Expr& e : flat) {  // equal terms stand side by side, the smaller constant first
    if (out.empty() || !same_terms(out.back(), e)) {
      out.push_back(std::move(e));
    } else if (kind == AtomKind::max) {
      out.back() = std::move(e);
    }
  }
  const bool all_pairs = out.size() <= max_pairwise;
  for (size_t i = 0; i < out.size();) {
    bool superfluous = false;
    for (size_t j = 0; j < out.size() && !superfluous; ++j) {
      const bool look = all_pairs || out[i].constant() || out[j].constant();
      superfluous = i != j && look && dominates(kind, out[j], out[i]);
    }
    if (superfluous) {
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return out;
}

// What two coefficients have in common: the one nearer to zero, if their signs agree.
int64_t common(int64_t a, int64_t b) {
  if ((a < 0) != (b < 0)) return 0;
  return a < 0 ? std::max(a, b) : std::min(a, b);
}

Expr common_addend(std::span<const Expr> args) {
  std::vector<Term> terms = args[0].node()->terms;
  int64_t constant = args[0].node()->constant;
  for (const Expr& e : args.subspan(1)) {
    constant = common(constant, e.node()->constant);
    std::erase_if(terms, [&](Term& t) {
      t.coef = common(t.coef, coefficient(e, *t.atom));
      return t.coef == 0;
    });
    if (terms.empty() && constant == 0) break;
  }
  return from_terms(std::move(terms), constant);
}

Expr extremum(AtomKind kind, std::span<const Expr> args) {
  if (args.empty()) base::fail_internal("min or max of no sizes");
  std::vector<Expr> kept = surviving_operands(kind, args);
  if (kept.size() == 1) return kept[0];
  const Expr shared = common_addend(kept);
  if (shared != Expr(0)) {
    for (Expr& e : kept) e = e - shared;
    return shared + extremum(kind, kept);
  }
  Atom m{.kind = kind};
  m.args = std::move(kept);
  return make_atom(std::move(m));
}

}  // namespace

Expr fdiv(const Expr& a, const Expr& b) {
  const auto d = b.constant();
  if (!d) return divide(a, b);
  if (*d == 0) return division_atom(a, b);
  if (const auto x = a.constant()) return floor_div(*x, *d);
  return *d < 0 ? divide_by_number(scale(a, -1), mul64(*d, -1)) : divide_by_number(a, *d);
}

Expr min(std::span<const Expr> args) { return extremum(AtomKind::min, args); }
Expr max(std::span<const Expr> args) { return extremum(AtomKind::max, args); }
Expr min(const Expr& a, const Expr& b) {
  const Expr both[] = {a, b};
  return min(both);
}
Expr max(const Expr& a, const Expr& b) {
  const Expr both[] = {a, b};
  return max(both);
}
Expr mod(const Expr& a, const Expr& b) { return a - b * fdiv(a, b); }
Expr ceildiv(const Expr& a, const Expr& b) { return fdiv(a + b - 1, b); }
Expr align(const Expr& a, const Expr& b) { return b * ceildiv(a, b); }

Condition ge(const Expr& a, const Expr& b) { return {Condition::Relation::nonnegative, a - b}; }
Condition le(const Expr& a, const Expr& b) { return ge(b, a); }
Condition lt(const Expr& a, const Expr& b) { return ge(b, a + 1); }
Condition eq(const Expr& a, const Expr& b) { return {Condition::Relation::zero, a - b}; }

std::optional<bool> plain_truth(const Condition& c) {
  const auto k = c.expr.constant();
  if (c.relation == Condition::Relation::nonnegative) {
    if (k) return *k >= 0;
    if (plainly_nonnegative(c.expr)) return true;
    if (plainly_nonnegative(combine(c.expr, -1, -1, 1))) return false;
    return {};
  }
  if (k) return *k == 0;
  const int64_t g = content(c.expr);
  if (c.expr.node()->constant % g != 0) return false;
  if (plainly_nonnegative(c.expr - 1) || plainly_nonnegative(combine(c.expr, -1, -1, 1))) {
    return false;
  }
  return {};
}

Condition tightened(const Condition& c) {
  const int64_t g = content(c.expr);
  if (g <= 1) return c;
  if (c.relation == Condition::Relation::zero && c.expr.node()->constant % g != 0) return c;
  return {c.relation, divided(c.expr, g)};
}

Expr sel(const Condition& condition, const Expr& then, const Expr& otherwise) {
  if (then == otherwise) return then;
  if (const auto known = plain_truth(condition)) return *known ? then : otherwise;
  const Condition c = tightened(condition);
  const bool inequality = c.relation == Condition::Relation::nonnegative;
  if (c.expr.node()->terms[0].coef < 0) {  // one form of a condition and its opposite
    if (!inequality) return sel({c.relation, scale(c.expr, -1)}, then, otherwise);
    return sel({c.relation, combine(c.expr, -1, -1, 1)}, otherwise, then);
  }
  if (inequality) {
    // (e >= 0 ? e : 0) and (e >= 0 ? e+1 : 0) are max(e, 0) and max(e+1, 0)
    const Expr gain = then - otherwise, loss = otherwise - then;
    if (gain == c.expr || gain == c.expr + 1) return otherwise + max(gain, 0);
    if (loss == c.expr || loss == c.expr + 1) return otherwise - max(loss, 0);
  }
  Atom a{.kind = AtomKind::sel};
  a.args = {then, otherwise, c.expr};
  a.relation = c.relation;
  return make_atom(std::move(a));
}

std::vector<Expr> operands(const Atom& a) {
  if (a.kind != AtomKind::product) return a.args;
  std::vector<Expr> out;
  for (const AtomRef& f : a.factors) out.push_back(from_atom(f));
  return out;
}

Expr with_operands(const Atom& a, std::span<const Expr> o) {
  switch (a.kind) {
    case AtomKind::leaf:
      return a.leaf;
    case AtomKind::product:
      return product(o);
    case AtomKind::fdiv:
      return fdiv(o[0], o[1]);
    case AtomKind::min:
      return min(o);
    case AtomKind::max:
      return max(o);
    case AtomKind::sel:
      return sel({a.relation, o[2]}, o[0], o[1]);
    case AtomKind::sum:
      return o[0];
  }
  base::fail_internal("atom of kind {}", static_cast<int>(a.kind));
}

Expr rewrite(const Expr& e, const AtomRewrite& f) {
  std::vector<Term> kept;
  std::vector<Expr> parts;
  const auto& terms = e.node()->terms;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (const auto better = f(terms[i].atom)) {
      if (parts.empty()) kept.assign(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(i));
      parts.push_back(scale(*better, terms[i].coef));
    } else if (!parts.empty()) {
      kept.push_back(terms[i]);
    }
  }
  if (parts.empty()) return e;
  parts.push_back(from_terms(std::move(kept), e.node()->constant));
  return parts.size() == 2 ? parts[1] + parts[0] : sum(parts);
}

}  // namespace sym
