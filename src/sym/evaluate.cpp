// The value of an expression, its leaves, and substitution for them.
#include <algorithm>

#include "base/error.h"
#include "sym/expr.h"
#include "sym/node.h"

namespace sym {
namespace {

// Sums and products are added up in 128 bits: an expanded product may pass 64 bits on the way.
[[noreturn]] void overflow() {
  base::fail_user(base::Exit::config, "size arithmetic exceeds 64 bits");
}
__int128 add(__int128 a, __int128 b) {
  if (__builtin_add_overflow(a, b, &a)) overflow();
  return a;
}
__int128 multiply(__int128 a, __int128 b) {
  if (__builtin_mul_overflow(a, b, &a)) overflow();
  return a;
}

__int128 value_of(const Atom& a, const LeafValue& v) {
  switch (a.kind) {
    case AtomKind::leaf:
      return v(a.leaf);
    case AtomKind::product: {
      __int128 p = 1;
      for (const AtomRef& f : a.factors) p = multiply(p, value_of(*f, v));
      return p;
    }
    case AtomKind::fdiv: {
      const int64_t divisor = evaluate(a.args[1], v);
      if (divisor == 0) base::fail_user(base::Exit::config, "division of sizes by zero");
      return floor_div(evaluate(a.args[0], v), divisor);
    }
    case AtomKind::min:
    case AtomKind::max: {
      int64_t best = evaluate(a.args[0], v);
      for (const Expr& e : std::span(a.args).subspan(1)) {
        const int64_t x = evaluate(e, v);
        best = a.kind == AtomKind::min ? std::min(best, x) : std::max(best, x);
      }
      return best;
    }
    case AtomKind::sel:
      return evaluate(evaluate(Condition{a.relation, a.args[2]}, v) ? a.args[0] : a.args[1], v);
    case AtomKind::sum:
      return evaluate(a.args[0], v);
  }
  base::fail_internal("atom of kind {}", static_cast<int>(a.kind));
}

void gather(const Expr& e, std::vector<Leaf>& out);
void gather(const Atom& a, std::vector<Leaf>& out) {
  if (a.kind == AtomKind::leaf) out.push_back(a.leaf);
  for (const AtomRef& f : a.factors) gather(*f, out);
  for (const Expr& e : a.args) gather(e, out);
}
void gather(const Expr& e, std::vector<Leaf>& out) {
  for (const Term& t : e.node()->terms) gather(*t.atom, out);
}

}  // namespace

int64_t evaluate(const Expr& e, const LeafValue& values) {
  __int128 total = e.node()->constant;
  for (const Term& t : e.node()->terms)
    total = add(total, multiply(t.coef, value_of(*t.atom, values)));
  return narrow(total);
}

bool evaluate(const Condition& c, const LeafValue& values) {
  const int64_t x = evaluate(c.expr, values);
  return c.relation == Condition::Relation::zero ? x == 0 : x >= 0;
}

std::vector<Leaf> leaves(const Expr& e) {
  std::vector<Leaf> out;
  gather(e, out);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Expr substitute(const Expr& e, const std::function<Expr(Leaf)>& replacement) {
  const AtomRewrite one = [&](const AtomRef& a) -> std::optional<Expr> {
    if (a->kind == AtomKind::leaf) {
      Expr to = replacement(a->leaf);
      if (to.leaf() == a->leaf) return {};
      return to;
    }
    std::vector<Expr> parts = operands(*a);
    bool changed = false;
    for (Expr& p : parts) {
      Expr better = substitute(p, replacement);
      changed = changed || better.node() != p.node();
      p = std::move(better);
    }
    if (!changed) return {};
    return with_operands(*a, parts);
  };
  return rewrite(e, one);
}

Condition substitute(const Condition& c, const std::function<Expr(Leaf)>& replacement) {
  return {c.relation, substitute(c.expr, replacement)};
}

}  // namespace sym
