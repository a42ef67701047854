// Whole-number expressions in a fact-free normal form.
#include "sym/expr.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "sym/facts.h"

namespace sym {

enum class AtomKind : uint8_t { product, leaf, fdiv, min, max, sel };

struct Atom;
using AtomRef = std::shared_ptr<const Atom>;

struct Term {
  AtomRef atom;
  int64_t coef;
};

// const + sum coef * atom; terms in the order of `before`, no zero coefficient.
struct Node {
  std::vector<Term> terms;
  int64_t constant = 0;
  uint64_t hash = 0;
};

struct Atom {
  AtomKind kind;
  Leaf leaf{};
  std::vector<AtomRef> factors;  // product: sorted, at least two
  std::vector<Expr> args;        // fdiv, min, max; sel: then, otherwise
  Condition::Relation relation{};
  Expr condition;  // sel
  uint64_t hash = 0;
  uint32_t birth = 0;  // greatest leaf id inside
  bool nonnegative = false;
};

namespace {

uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 31);
}

[[noreturn]] void overflow() {
  base::fail_user(base::Exit::config, "size arithmetic exceeds 64 bits");
}
int64_t narrow(__int128 x) {
  if (x > INT64_MAX || x < INT64_MIN) overflow();
  return static_cast<int64_t>(x);
}
int64_t add64(int64_t a, int64_t b) { return narrow(static_cast<__int128>(a) + b); }
int64_t mul64(int64_t a, int64_t b) { return narrow(static_cast<__int128>(a) * b); }

int compare(const Expr& a, const Expr& b);
int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind && (a.kind == AtomKind::product || b.kind == AtomKind::product)) {
    return a.kind == AtomKind::product ? -1 : 1;
  }
  if (a.kind == AtomKind::product) {
    const size_t n = std::min(a.factors.size(), b.factors.size());
    for (size_t i = 0; i < n; ++i) {
      if (const int c = compare(*a.factors[i], *b.factors[i])) return c;
    }
    return a.factors.size() < b.factors.size() ? -1 : a.factors.size() > b.factors.size();
  }
  if (a.birth != b.birth) return a.birth < b.birth ? -1 : 1;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::leaf) return 0;
  if (a.kind == AtomKind::sel) {
    if (a.relation != b.relation) return a.relation < b.relation ? -1 : 1;
    if (const int c = compare(a.condition, b.condition)) return c;
  }
  if (a.args.size() != b.args.size()) return a.args.size() < b.args.size() ? -1 : 1;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (const int c = compare(a.args[i], b.args[i])) return c;
  }
  return 0;
}

int compare(const Expr& a, const Expr& b) {
  const Node &x = *a.node(), &y = *b.node();
  if (&x == &y) return 0;
  const size_t n = std::min(x.terms.size(), y.terms.size());
  for (size_t i = 0; i < n; ++i) {
    if (const int c = compare(*x.terms[i].atom, *y.terms[i].atom)) return c;
    if (x.terms[i].coef != y.terms[i].coef) return x.terms[i].coef < y.terms[i].coef ? -1 : 1;
  }
  if (x.terms.size() != y.terms.size()) return x.terms.size() < y.terms.size() ? -1 : 1;
  return x.constant < y.constant ? -1 : x.constant > y.constant;
}

Expr finish(std::vector<Term> terms, int64_t constant) {
  auto node = std::make_shared<Node>();
  node->terms = std::move(terms);
  node->constant = constant;
  uint64_t h = mix(0x51ED270B, static_cast<uint64_t>(constant));
  for (const Term& t : node->terms) h = mix(mix(h, t.atom->hash), static_cast<uint64_t>(t.coef));
  node->hash = h;
  return Expr(std::move(node));
}

Expr collect(std::vector<Term> terms, int64_t constant) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return compare(*a.atom, *b.atom) < 0; });
  std::vector<Term> out;
  for (Term& t : terms) {
    if (!out.empty() && compare(*out.back().atom, *t.atom) == 0) {
      out.back().coef = add64(out.back().coef, t.coef);
    } else {
      if (!out.empty() && out.back().coef == 0) out.pop_back();
      out.push_back(std::move(t));
    }
  }
  if (!out.empty() && out.back().coef == 0) out.pop_back();
  return finish(std::move(out), constant);
}

Expr from_atom(Atom a) {
  uint64_t h =
      mix(static_cast<uint64_t>(a.kind) + 77, a.leaf.id * 2 + static_cast<uint64_t>(a.leaf.kind));
  for (const auto& f : a.factors) h = mix(h, f->hash), a.birth = std::max(a.birth, f->birth);
  const auto scan = [&](const Expr& e) {
    h = mix(h, e.hash());
    for (const Term& t : e.node()->terms) a.birth = std::max(a.birth, t.atom->birth);
  };
  for (const auto& e : a.args) scan(e);
  if (a.kind == AtomKind::sel) h = mix(h, static_cast<uint64_t>(a.relation)), scan(a.condition);
  if (a.kind == AtomKind::leaf) a.birth = a.leaf.id;
  a.hash = h;
  return finish({{std::make_shared<Atom>(std::move(a)), 1}}, 0);
}

// Nonnegative whatever the sizes are: no negative coefficient over atoms that cannot be negative.
bool plainly_nonnegative(const Expr& e) {
  const Node& n = *e.node();
  if (n.constant < 0) return false;
  return std::ranges::all_of(n.terms,
                             [](const Term& t) { return t.coef >= 0 && t.atom->nonnegative; });
}

bool atom_nonnegative(const Atom& a) {
  switch (a.kind) {
    case AtomKind::leaf:
      return a.leaf.kind == LeafKind::size;
    case AtomKind::product:
      return std::ranges::all_of(a.factors, [](const auto& f) { return f->nonnegative; });
    case AtomKind::fdiv:
      return plainly_nonnegative(a.args[0]) && plainly_nonnegative(a.args[1]);
    case AtomKind::min:
      return std::ranges::all_of(a.args, plainly_nonnegative);
    case AtomKind::max:
      return std::ranges::any_of(a.args, plainly_nonnegative);
    case AtomKind::sel:
      return plainly_nonnegative(a.args[0]) && plainly_nonnegative(a.args[1]);
  }
  return false;
}

Expr make_atom(Atom a) {
  a.nonnegative = atom_nonnegative(a);
  return from_atom(std::move(a));
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) base::fail_user(base::Exit::config, "division of sizes by zero");
  if (b == -1) return narrow(-static_cast<__int128>(a));
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

}  // namespace

Expr::Expr(int64_t value) : node_(finish({}, value).node_) {}
Expr::Expr(Leaf leaf) : Expr(make_atom({.kind = AtomKind::leaf, .leaf = leaf})) {}

std::optional<int64_t> Expr::constant() const {
  if (!node_->terms.empty()) return {};
  return node_->constant;
}
std::optional<Leaf> Expr::leaf() const {
  if (node_->terms.size() != 1 || node_->constant != 0 || node_->terms[0].coef != 1 ||
      node_->terms[0].atom->kind != AtomKind::leaf) {
    return {};
  }
  return node_->terms[0].atom->leaf;
}
uint64_t Expr::hash() const { return node_->hash; }
bool Expr::operator==(const Expr& o) const {
  return node_ == o.node_ || (node_->hash == o.node_->hash && compare(*this, o) == 0);
}

Expr sum(std::span<const Expr> terms) {
  std::vector<Term> all;
  int64_t constant = 0;
  for (const Expr& e : terms) {
    constant = add64(constant, e.node()->constant);
    all.insert(all.end(), e.node()->terms.begin(), e.node()->terms.end());
  }
  return collect(std::move(all), constant);
}
Expr operator+(const Expr& a, const Expr& b) {
  const Expr both[] = {a, b};
  return sum(both);
}
Expr operator*(const Expr& a, const Expr& b) {
  std::vector<Term> out;
  const Node &x = *a.node(), &y = *b.node();
  for (const Term& t : x.terms) {
    if (y.constant) out.push_back({t.atom, mul64(t.coef, y.constant)});
    for (const Term& u : y.terms) {
      Atom p{.kind = AtomKind::product};
      for (const auto* side : {&t.atom, &u.atom}) {
        if ((*side)->kind == AtomKind::product) {
          p.factors.insert(p.factors.end(), (*side)->factors.begin(), (*side)->factors.end());
        } else {
          p.factors.push_back(*side);
        }
      }
      std::ranges::sort(p.factors,
                        [](const auto& l, const auto& r) { return compare(*l, *r) < 0; });
      const Expr e = make_atom(std::move(p));
      out.push_back({e.node()->terms[0].atom, mul64(t.coef, u.coef)});
    }
  }
  for (const Term& u : y.terms) {
    if (x.constant) out.push_back({u.atom, mul64(u.coef, x.constant)});
  }
  return collect(std::move(out), mul64(x.constant, y.constant));
}
Expr operator-(const Expr& a, const Expr& b) { return a + b * Expr(-1); }
Expr product(std::span<const Expr> factors) {
  Expr out = 1;
  for (const Expr& f : factors) out = out * f;
  return out;
}

Expr fdiv(const Expr& a, const Expr& b) {
  const auto x = a.constant(), d = b.constant();
  if (x && d && *d != 0) return floor_div(*x, *d);
  if (d && *d > 0) {
    std::vector<Term> out, rest;
    for (const Term& t : a.node()->terms) {
      (t.coef % *d == 0 ? out : rest).push_back({t.atom, t.coef % *d == 0 ? t.coef / *d : t.coef});
    }
    const int64_t whole = floor_div(a.node()->constant, *d);
    const int64_t left = a.node()->constant - whole * *d;
    Expr pulled = collect(std::move(out), whole);
    if (rest.empty()) return pulled;
    return pulled +
           make_atom({.kind = AtomKind::fdiv, .args = {collect(std::move(rest), left), b}});
  }
  return make_atom({.kind = AtomKind::fdiv, .args = {a, b}});
}

namespace {
Expr extremum(AtomKind kind, std::span<const Expr> args) {
  std::vector<Expr> flat;
  const auto add = [&](const Expr& e) {
    for (Expr& f : flat) {
      const Expr gap = e - f;
      if (plainly_nonnegative(gap)) {
        if (kind == AtomKind::max) f = e;
        return;
      }
      if (plainly_nonnegative(f - e)) {
        if (kind == AtomKind::min) f = e;
        return;
      }
    }
    flat.push_back(e);
  };
  for (const Expr& e : args) {
    const Node& n = *e.node();
    if (n.terms.size() == 1 && n.constant == 0 && n.terms[0].coef == 1 &&
        n.terms[0].atom->kind == kind) {
      for (const Expr& inner : n.terms[0].atom->args) add(inner);
    } else {
      add(e);
    }
  }
  std::ranges::sort(flat, [](const Expr& a, const Expr& b) { return compare(a, b) < 0; });
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.size() == 1) return flat[0];
  return make_atom({.kind = kind, .args = std::move(flat)});
}
}  // namespace
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
Expr sel(const Condition& c, const Expr& then, const Expr& otherwise) {
  if (then == otherwise) return then;
  const auto k = c.expr.constant();
  const bool eqz = c.relation == Condition::Relation::zero;
  if (k) return (eqz ? *k == 0 : *k >= 0) ? then : otherwise;
  if (!eqz && plainly_nonnegative(c.expr)) return then;
  Atom a{.kind = AtomKind::sel};
  a.args = {then, otherwise};
  a.relation = c.relation;
  a.condition = c.expr;
  return make_atom(std::move(a));
}

namespace {
int64_t value_of(const Atom& a, const LeafValue& v);
int64_t value_of(const Expr& e, const LeafValue& v) {
  __int128 total = e.node()->constant;
  for (const Term& t : e.node()->terms)
    total += static_cast<__int128>(t.coef) * value_of(*t.atom, v);
  return narrow(total);
}
int64_t value_of(const Atom& a, const LeafValue& v) {
  switch (a.kind) {
    case AtomKind::leaf:
      return v(a.leaf);
    case AtomKind::product: {
      int64_t p = 1;
      for (const auto& f : a.factors) p = mul64(p, value_of(*f, v));
      return p;
    }
    case AtomKind::fdiv:
      return floor_div(value_of(a.args[0], v), value_of(a.args[1], v));
    case AtomKind::min:
    case AtomKind::max: {
      int64_t best = value_of(a.args[0], v);
      for (const Expr& e : a.args) {
        const int64_t x = value_of(e, v);
        best = a.kind == AtomKind::min ? std::min(best, x) : std::max(best, x);
      }
      return best;
    }
    case AtomKind::sel:
      return value_of(evaluate(Condition{a.relation, a.condition}, v) ? a.args[0] : a.args[1], v);
  }
  return 0;
}
void gather(const Expr& e, std::vector<Leaf>& out);
void gather(const Atom& a, std::vector<Leaf>& out) {
  if (a.kind == AtomKind::leaf) out.push_back(a.leaf);
  for (const auto& f : a.factors) gather(*f, out);
  for (const Expr& e : a.args) gather(e, out);
  if (a.kind == AtomKind::sel) gather(a.condition, out);
}
void gather(const Expr& e, std::vector<Leaf>& out) {
  for (const Term& t : e.node()->terms) gather(*t.atom, out);
}
}  // namespace

int64_t evaluate(const Expr& e, const LeafValue& values) { return value_of(e, values); }
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

Expr substitute(const Expr& e, const std::function<Expr(Leaf)>& r) {
  std::vector<Expr> parts{Expr(e.node()->constant)};
  for (const Term& t : e.node()->terms) {
    const Atom& a = *t.atom;
    Expr x;
    switch (a.kind) {
      case AtomKind::leaf:
        x = r(a.leaf);
        break;
      case AtomKind::product: {
        x = 1;
        for (const auto& f : a.factors) x = x * substitute(finish({{f, 1}}, 0), r);
        break;
      }
      case AtomKind::fdiv:
        x = fdiv(substitute(a.args[0], r), substitute(a.args[1], r));
        break;
      case AtomKind::min:
      case AtomKind::max: {
        std::vector<Expr> args;
        for (const Expr& arg : a.args) args.push_back(substitute(arg, r));
        x = a.kind == AtomKind::min ? min(args) : max(args);
        break;
      }
      case AtomKind::sel:
        x = sel({a.relation, substitute(a.condition, r)}, substitute(a.args[0], r),
                substitute(a.args[1], r));
        break;
    }
    parts.push_back(x * Expr(t.coef));
  }
  return sum(parts);
}
Condition substitute(const Condition& c, const std::function<Expr(Leaf)>& r) {
  return {c.relation, substitute(c.expr, r)};
}

namespace {
std::string atom_text(const Atom& a, const LeafNames& names) {
  std::string out;
  switch (a.kind) {
    case AtomKind::leaf:
      return names.name(a.leaf);
    case AtomKind::product:
      for (const auto& f : a.factors) out += (out.empty() ? "" : "*") + atom_text(*f, names);
      return out;
    case AtomKind::sel:
      return "sel(" + print(Condition{a.relation, a.condition}, names) + ", " +
             print(a.args[0], names) + ", " + print(a.args[1], names) + ")";
    default:
      for (const Expr& e : a.args) out += (out.empty() ? "" : ", ") + print(e, names);
      return (a.kind == AtomKind::fdiv  ? "fdiv("
              : a.kind == AtomKind::min ? "min("
                                        : "max(") +
             out + ")";
  }
}
}  // namespace
std::string print(const Expr& e, const LeafNames& names) {
  std::string out;
  const auto piece = [&](bool negative, const std::string& s) {
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    out += s;
  };
  const auto& terms = e.node()->terms;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].coef == 1 && terms[i].atom->kind == AtomKind::leaf) {
      size_t j = i;
      const auto first = names.family(terms[i].atom->leaf);
      while (first && j + 1 < terms.size() && terms[j + 1].coef == 1 &&
             terms[j + 1].atom->kind == AtomKind::leaf) {
        const auto next = names.family(terms[j + 1].atom->leaf);
        if (!next || next->first != first->first ||
            next->second != first->second + static_cast<int64_t>(j + 1 - i))
          break;
        ++j;
      }
      if (j >= i + 2) {
        piece(false, "sum(" + names.name(terms[i].atom->leaf) + ".." +
                         names.name(terms[j].atom->leaf) + ")");
        i = j;
        continue;
      }
    }
    const int64_t c = terms[i].coef;
    const std::string magnitude = c == 1 || c == -1 ? "" : std::to_string(c < 0 ? -c : c) + "*";
    piece(c < 0, magnitude + atom_text(*terms[i].atom, names));
  }
  const int64_t k = e.node()->constant;
  if (k != 0 || terms.empty()) piece(k < 0, std::to_string(k < 0 ? -k : k));
  return out;
}
std::string print(const Condition& c, const LeafNames& names) {
  return print(c.expr, names) + (c.relation == Condition::Relation::zero ? " == 0" : " >= 0");
}
LeafNames plain_names() {
  return {[](Leaf l) { return "s" + std::to_string(l.id); },
          [](Leaf l) { return std::optional(std::pair(std::string("s"), int64_t{l.id})); }};
}

struct Facts::State {
  std::vector<Fact> facts;
  std::vector<Expr> equalities;  // pivot: the last term, coefficient +-1
};
Facts::Facts() : state_(std::make_unique<State>()) {}
Facts::~Facts() = default;
Facts::Facts(const Facts& o) : state_(std::make_unique<State>(*o.state_)) {}
Facts::Facts(Facts&&) noexcept = default;
Facts& Facts::operator=(const Facts& o) {
  state_ = std::make_unique<State>(*o.state_);
  return *this;
}
Facts& Facts::operator=(Facts&&) noexcept = default;
static Expr reduce(const std::vector<Expr>& eqs, Expr e) {
  for (size_t k = eqs.size(); k-- > 0;) {
    const Term& pivot = eqs[k].node()->terms.back();
    for (const Term& t : e.node()->terms) {
      if (t.atom->hash == pivot.atom->hash) {
        e = e - eqs[k] * Expr(t.coef * pivot.coef);
        break;
      }
    }
  }
  return e;
}
FactId Facts::add(Fact f) {
  state_->facts.push_back(f);
  if (f.condition.relation == Condition::Relation::zero) {
    Expr e = reduce(state_->equalities, f.condition.expr);
    if (!e.node()->terms.empty() && std::abs(e.node()->terms.back().coef) == 1)
      state_->equalities.push_back(e);
  }
  return {static_cast<uint32_t>(state_->facts.size() - 1)};
}
const Fact& Facts::fact(FactId id) const { return state_->facts[id.value]; }
Answer Facts::ask(const Condition& q) const {
  for (const Fact& f : state_->facts) {
    if (f.condition == q) return {Truth::yes, {}, {}};
  }
  Expr e = reduce(state_->equalities, q.expr);
  if (q.relation == Condition::Relation::zero) {
    if (auto c = e.constant()) return {*c == 0 ? Truth::yes : Truth::no, {}, {}};
    if (plainly_nonnegative(e - 1) || plainly_nonnegative(Expr(0) - e - 1))
      return {Truth::no, {}, {}};
    return {Truth::unknown, {}, {}};
  }
  if (plainly_nonnegative(e) || plainly_nonnegative(q.expr)) return {Truth::yes, {}, {}};
  if (plainly_nonnegative(Expr(0) - e - 1)) return {Truth::no, {}, {}};
  for (const Fact& f : state_->facts) {
    if (f.condition.relation == Condition::Relation::nonnegative &&
        plainly_nonnegative(e - reduce(state_->equalities, f.condition.expr)))
      return {Truth::yes, {}, {}};
  }
  return {Truth::unknown, {}, {}};
}
bool Facts::prove_equal(const Expr& a, const Expr& b) const {
  return a == b || ask(eq(a, b)).truth == Truth::yes;
}
}  // namespace sym
