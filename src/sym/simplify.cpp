// The shortest equal form that the facts show: what a type prints after `simplify`.
#include <algorithm>

#include "base/error.h"
#include "sym/prover.h"
#include "sym/store.h"

namespace sym {
namespace {

constexpr size_t max_operands = 12;  // of a min or max whose operands are compared pairwise
constexpr size_t max_terms_tried = 64;
constexpr size_t max_rows_tried = 8;  // a term
constexpr int max_rounds = 4;
constexpr uint64_t max_weight_tried = 24;

uint32_t birth(const Expr& e) {
  uint32_t out = 0;
  for (const Term& t : e.node()->terms) out = std::max(out, t.atom->birth);
  return out;
}

// Shorter, else born earlier.
bool simpler(const Expr& a, const Expr& b) {
  const uint64_t x = weight(a), y = weight(b);
  if (x != y) return x < y;
  if (birth(a) != birth(b)) return birth(a) < birth(b);
  return compare(a, b) < 0;
}

bool has_short_functions(const Expr& e) {
  return weight(e) <= max_weight_tried && std::ranges::any_of(e.node()->terms, [](const Term& t) {
           return t.atom->kind != AtomKind::leaf && t.atom->kind != AtomKind::product;
         });
}

class Simplifier {
 public:
  explicit Simplifier(const Facts::State& known) : known_(known) {}

  Expr run(const Expr& e) {
    Expr out = e;
    for (int round = 0; round < max_rounds; ++round) {
      Expr next = shorten(rewrite(out, [&](const AtomRef& a) { return inside(a); }));
      if (next == out) break;
      out = std::move(next);
    }
    return out;
  }

 private:
  bool proves(const Condition& c) { return Prover(known_).truth(c) == true; }

  std::optional<Expr> inside(const AtomRef& a) {
    if (a->kind == AtomKind::leaf) return {};
    std::vector<Expr> parts = operands(*a);
    bool changed = false;
    for (Expr& p : parts) {
      Expr better = a->kind == AtomKind::product ? shorten(once(p)) : run(p);
      changed = changed || better != p;
      p = std::move(better);
    }
    if (const auto decided = decide(*a, parts)) return decided;
    if (!changed) return {};
    return with_operands(*a, parts);
  }
  Expr once(const Expr& e) {
    return rewrite(e, [&](const AtomRef& a) { return inside(a); });
  }

  std::optional<Expr> decide(const Atom& a, std::span<const Expr> parts) {
    switch (a.kind) {
      case AtomKind::min:
      case AtomKind::max:
        return without_superfluous(a.kind, parts);
      case AtomKind::sel: {
        const auto known = Prover(known_).truth({a.relation, parts[2]});
        if (!known) return {};
        return parts[*known ? 0 : 1];
      }
      case AtomKind::fdiv:
        return decided_division(parts[0], parts[1]);
      case AtomKind::leaf:
      case AtomKind::product:
      case AtomKind::sum:
        return {};
    }
    return {};
  }

  std::optional<Expr> without_superfluous(AtomKind kind, std::span<const Expr> args) {
    if (args.size() > max_operands) return {};
    std::vector<Expr> kept(args.begin(), args.end());
    // The simplest first: of two that are equal, the first one stays.
    std::ranges::sort(kept, simpler);
    for (size_t i = 0; i < kept.size();) {
      const auto makes_superfluous = [&](const Expr& other) {
        if (&other == &kept[i]) return false;
        const Condition c = kind == AtomKind::min ? le(other, kept[i]) : ge(other, kept[i]);
        const Condition back{c.relation, scale(c.expr, -1)};
        return proves(c) && (&other < &kept[i] || !proves(back));
      };
      if (std::ranges::any_of(kept, makes_superfluous)) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    if (kept.size() == args.size()) return {};
    return kind == AtomKind::min ? min(kept) : max(kept);
  }

  std::optional<Expr> decided_division(const Expr& a, const Expr& b) {
    if (!proves(ge(b, 1))) return {};
    const int64_t q = Prover(known_).low(fdiv(a, b));
    if (q == no_low || !proves(lt(a, b * Expr(q) + b))) return {};
    return Expr(q);
  }

  // By equalities as their authors wrote them, each used where it makes the sum simpler.
  Expr shorten(const Expr& start) {
    Expr e = start;
    std::vector<uint32_t> rows;
    for (const Term& t : e.node()->terms) {
      if (rows.size() >= max_terms_tried) break;
      const auto more = known_.named.rows_with(t.atom, max_rows_tried);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (const uint32_t i : rows) {
      const Basis::Row& row = known_.named.rows()[i];
      for (const Term& t : row.form.node()->terms) {
        const int64_t c = coefficient(e, *t.atom);
        if (c == 0 || c % t.coef != 0) continue;
        Expr next = combine(e, 1, row.form, -(c / t.coef));
        // w == min(v, n) is worth it when the min turns out to be v.
        if (!nested_ && compare(*t.atom, *row.pivot) == 0 && has_short_functions(row.form)) {
          nested_ = true;
          next = once(next);
          nested_ = false;
        }
        if (simpler(next, e)) e = std::move(next);
      }
    }
    return e;
  }

  const Facts::State& known_;
  bool nested_ = false;  // a row tried inside of a row
};

}  // namespace

Expr Facts::simplify(const Expr& e) const {
  try {
    return e.constant() ? e : Simplifier(*state_).run(e);
  } catch (const base::UserError&) {
    return e;  // a sum on the way passed 64 bits
  }
}

}  // namespace sym
