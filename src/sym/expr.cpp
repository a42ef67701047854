// Sums and products in normal form: construction, order and equality.
#include "sym/expr.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "sym/node.h"

namespace sym {
namespace {

// Above this a product of two sums is kept as a product, see symbolic-shapes 6.2.
constexpr size_t max_distributed_terms = 1024;
// Walks recurse into atoms and visit shared parts each time; no honest size comes near.
constexpr uint32_t max_weight = 1 << 20;
constexpr uint16_t max_depth = 400;
constexpr size_t max_terms_looked_into = 32;  // when a sum is judged through its min and max

uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

int compare_lists(std::span<const Expr> a, std::span<const Expr> b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int c = compare(a[i], b[i])) return c;
  }
  return 0;
}

int compare_factors(const Atom& a, const Atom& b) {
  const size_t n = std::min(a.factors.size(), b.factors.size());
  for (size_t i = 0; i < n; ++i) {
    if (const int c = compare(*a.factors[i], *b.factors[i])) return c;
  }
  if (a.factors.size() == b.factors.size()) return 0;
  return a.factors.size() < b.factors.size() ? -1 : 1;
}

bool before(const AtomRef& a, const AtomRef& b) { return compare(*a, *b) < 0; }

bool atom_nonnegative(const Atom& a) {
  const auto plain = [](const Expr& e) { return plainly_nonnegative(e); };
  switch (a.kind) {
    case AtomKind::leaf:
      return a.leaf.kind == LeafKind::size;
    case AtomKind::product:
      for (size_t i = 0; i < a.factors.size(); ++i) {
        if (a.factors[i]->nonnegative) continue;
        if (i + 1 == a.factors.size() || before(a.factors[i], a.factors[i + 1])) return false;
        ++i;  // a square
      }
      return true;
    case AtomKind::fdiv:
    case AtomKind::sel:
      return plain(a.args[0]) && plain(a.args[1]);
    case AtomKind::min:
      return std::ranges::all_of(a.args, plain);
    case AtomKind::max:
      return std::ranges::any_of(a.args, plain);
    case AtomKind::sum:
      return plain(a.args[0]);
  }
  base::fail_internal("atom of kind {}", static_cast<int>(a.kind));
}

uint64_t order_of(const Atom& a) {
  if (a.kind == AtomKind::product) return 0;
  return 1ull << 48 | static_cast<uint64_t>(a.birth) << 8 | static_cast<uint64_t>(a.kind) << 1 |
         static_cast<uint64_t>(a.leaf.kind);
}

std::shared_ptr<const Node> make_node(std::vector<Term> terms, int64_t constant) {
  auto node = std::make_shared<Node>();
  uint64_t h = mix(0x51ED270B, static_cast<uint64_t>(constant));
  for (const Term& t : terms) h = mix(mix(h, t.atom->hash), static_cast<uint64_t>(t.coef));
  node->terms = std::move(terms);
  node->constant = constant;
  node->hash = h;
  return node;
}

// Small numbers are made once: most dims of most graphs.
const std::shared_ptr<const Node>& small_number(int64_t value) {
  constexpr int64_t low = -16, high = 1024;
  static const auto numbers = [] {
    std::array<std::shared_ptr<const Node>, high - low + 1> out;
    for (int64_t i = low; i <= high; ++i) out[static_cast<size_t>(i - low)] = make_node({}, i);
    return out;
  }();
  static const std::shared_ptr<const Node> none;
  return value < low || value > high ? none : numbers[static_cast<size_t>(value - low)];
}

std::shared_ptr<const Node> number(int64_t value) {
  const auto& cached = small_number(value);
  return cached ? cached : make_node({}, value);
}

// A sum as a factor: its content is taken out, its first coefficient made positive.
std::pair<int64_t, std::vector<AtomRef>> as_factors(const Expr& e) {
  const Node& n = *e.node();
  if (n.terms.size() == 1 && n.constant == 0) {
    const auto factors = factors_of(n.terms[0].atom);
    return {n.terms[0].coef, {factors.begin(), factors.end()}};
  }
  const int64_t g = common_divisor(content(e), n.constant), sign = n.terms[0].coef < 0 ? -1 : 1;
  std::vector<Term> terms = n.terms;
  for (Term& t : terms) t.coef = mul64(t.coef / g, sign);
  Atom a{.kind = AtomKind::sum};
  a.args = {from_terms(std::move(terms), mul64(n.constant / g, sign))};
  return {g * sign, {make_atom(std::move(a)).node()->terms[0].atom}};
}

AtomRef product_atom(std::span<const AtomRef> a, std::span<const AtomRef> b) {
  Atom p{.kind = AtomKind::product};
  p.factors.resize(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), p.factors.begin(), before);
  return make_atom(std::move(p)).node()->terms[0].atom;
}

Expr undistributed_product(const Expr& a, const Expr& b) {
  const auto [x, f] = as_factors(a);
  const auto [y, g] = as_factors(b);
  return from_terms({{product_atom(f, g), mul64(x, y)}}, 0);
}

}  // namespace

int64_t narrow(__int128 x) {
  if (x > INT64_MAX || x < INT64_MIN) {
    base::fail_user(base::Exit::config, "size arithmetic exceeds 64 bits");
  }
  return static_cast<int64_t>(x);
}
int64_t add64(int64_t a, int64_t b) { return narrow(static_cast<__int128>(a) + b); }
int64_t mul64(int64_t a, int64_t b) { return narrow(static_cast<__int128>(a) * b); }
int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return narrow(-static_cast<__int128>(a));
  const int64_t q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t common_divisor(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t x) {
    return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  };
  const uint64_t g = std::gcd(magnitude(a), magnitude(b));
  return g > INT64_MAX ? 1 : static_cast<int64_t>(g);
}

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.order != b.order) return a.order < b.order ? -1 : 1;
  if (a.kind == AtomKind::leaf) return 0;
  if (a.kind == AtomKind::product) return compare_factors(a, b);
  if (a.relation != b.relation) return a.relation < b.relation ? -1 : 1;
  return compare_lists(a.args, b.args);
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
  if (x.constant == y.constant) return 0;
  return x.constant < y.constant ? -1 : 1;
}

Expr from_terms(std::vector<Term> terms, int64_t constant) {
  return Expr(terms.empty() ? number(constant) : make_node(std::move(terms), constant));
}

Expr collect(std::vector<Term> terms, int64_t constant) {
  const auto less = [](const Term& a, const Term& b) { return before(a.atom, b.atom); };
  if (!std::ranges::is_sorted(terms, less)) std::ranges::stable_sort(terms, less);
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    AtomRef atom = std::move(terms[i].atom);
    __int128 total = terms[i++].coef;
    while (i < terms.size() && compare(*atom, *terms[i].atom) == 0) total += terms[i++].coef;
    if (total != 0) terms[kept++] = {std::move(atom), narrow(total)};
  }
  terms.resize(kept);
  return from_terms(std::move(terms), constant);
}

Expr from_atom(AtomRef atom) { return from_terms({{std::move(atom), 1}}, 0); }

Expr make_atom(Atom a) {
  uint64_t h = mix(static_cast<uint64_t>(a.kind) + 77, static_cast<uint64_t>(a.leaf.id) << 2 |
                                                           static_cast<uint64_t>(a.leaf.kind) << 1 |
                                                           static_cast<uint64_t>(a.relation));
  a.birth = a.leaf.id;
  uint64_t weight = 1;
  const auto contain = [&](const Atom& inner) {
    a.birth = std::max(a.birth, inner.birth);
    a.depth = std::max<uint16_t>(a.depth, inner.depth + 1);
    weight += inner.weight;
  };
  for (const AtomRef& f : a.factors) h = mix(h, f->hash), contain(*f);
  for (const Expr& e : a.args) {
    h = mix(h, e.hash());
    for (const Term& t : e.node()->terms) contain(*t.atom);
  }
  if (weight > max_weight || a.depth > max_depth) {
    base::fail_user(base::Exit::config,
                    "a size is built of too many parts: {} in {} levels; at most {} in {}", weight,
                    a.depth, max_weight, max_depth);
  }
  a.weight = static_cast<uint32_t>(weight);
  a.hash = h;
  a.order = order_of(a);
  a.nonnegative = atom_nonnegative(a);
  return from_atom(std::make_shared<Atom>(std::move(a)));
}

Expr combine(const Expr& a, int64_t x, const Expr& b, int64_t y) {
  const std::vector<Term>&s = a.node()->terms, &t = b.node()->terms;
  std::vector<Term> out;
  out.reserve(s.size() + t.size());
  size_t i = 0, j = 0;
  while (i < s.size() || j < t.size()) {
    const int c = i == s.size() ? 1 : j == t.size() ? -1 : compare(*s[i].atom, *t[j].atom);
    const __int128 coef = (c <= 0 ? static_cast<__int128>(s[i].coef) * x : 0) +
                          (c >= 0 ? static_cast<__int128>(t[j].coef) * y : 0);
    if (coef != 0) out.push_back({c <= 0 ? s[i].atom : t[j].atom, narrow(coef)});
    if (c <= 0) ++i;
    if (c >= 0) ++j;
  }
  return from_terms(std::move(out), narrow(static_cast<__int128>(a.node()->constant) * x +
                                           static_cast<__int128>(b.node()->constant) * y));
}

Expr scale(const Expr& a, int64_t x) {
  if (x == 0) return 0;
  if (x == 1) return a;
  std::vector<Term> terms = a.node()->terms;
  for (Term& t : terms) t.coef = mul64(t.coef, x);
  return from_terms(std::move(terms), mul64(a.node()->constant, x));
}

int64_t coefficient(const Expr& e, const Atom& a) {
  const auto& terms = e.node()->terms;
  const auto at =
      std::ranges::partition_point(terms, [&](const Term& t) { return compare(*t.atom, a) < 0; });
  return at != terms.end() && compare(*at->atom, a) == 0 ? at->coef : 0;
}

int64_t content(const Expr& e) {
  int64_t g = 0;
  for (const Term& t : e.node()->terms) {
    if (g == 1) break;
    g = common_divisor(g, t.coef);
  }
  return g;
}

uint64_t weight(const Expr& e) {
  uint64_t out = e.node()->constant != 0 || e.node()->terms.empty();
  for (const Term& t : e.node()->terms) {
    out += t.atom->weight - (t.atom->kind == AtomKind::product) + (t.coef != 1 && t.coef != -1);
  }
  return out;
}

bool plainly_nonnegative(const Expr& e, int depth) {
  const Node& n = *e.node();
  const auto plain = [](const Term& t) { return t.coef >= 0 && t.atom->nonnegative; };
  if (n.constant >= 0 && std::ranges::all_of(n.terms, plain)) return true;
  if (depth == 0 || n.terms.size() > max_terms_looked_into) return false;
  // max(a, b) >= a and -min(a, b) >= -a: it is enough when one operand does.
  for (const Term& t : n.terms) {
    const Atom& m = *t.atom;
    if (m.kind != (t.coef < 0 ? AtomKind::min : AtomKind::max)) continue;
    if (m.args.size() > max_terms_looked_into) continue;
    for (const Expr& arg : m.args) {
      const Expr smaller = combine(e, 1, combine(from_atom(t.atom), -1, arg, 1), t.coef);
      if (plainly_nonnegative(smaller, depth - 1)) return true;
    }
  }
  return false;
}

Expr::Expr(int64_t value) : node_(number(value)) {}
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

Expr operator+(const Expr& a, const Expr& b) { return combine(a, 1, b, 1); }
Expr operator-(const Expr& a, const Expr& b) { return combine(a, 1, b, -1); }

Expr operator*(const Expr& a, const Expr& b) {
  const Node &x = *a.node(), &y = *b.node();
  if (x.terms.empty()) return scale(b, x.constant);
  if (y.terms.empty()) return scale(a, y.constant);
  const size_t n = x.terms.size() + (x.constant != 0), m = y.terms.size() + (y.constant != 0);
  if (n > 1 && m > 1 && n * m > max_distributed_terms) return undistributed_product(a, b);
  std::vector<Term> out;
  out.reserve(x.terms.size() * m + y.terms.size());
  for (const Term& t : x.terms) {
    if (y.constant != 0) out.push_back({t.atom, mul64(t.coef, y.constant)});
    for (const Term& u : y.terms) {
      out.push_back({product_atom(factors_of(t.atom), factors_of(u.atom)), mul64(t.coef, u.coef)});
    }
  }
  for (const Term& u : y.terms) {
    if (x.constant != 0) out.push_back({u.atom, mul64(u.coef, x.constant)});
  }
  return collect(std::move(out), mul64(x.constant, y.constant));
}

Expr sum(std::span<const Expr> terms) {
  std::vector<Term> all;
  __int128 constant = 0;
  size_t count = 0;
  for (const Expr& e : terms) count += e.node()->terms.size();
  all.reserve(count);
  for (const Expr& e : terms) {
    constant += e.node()->constant;
    all.insert(all.end(), e.node()->terms.begin(), e.node()->terms.end());
  }
  return collect(std::move(all), narrow(constant));
}

Expr product(std::span<const Expr> factors) {
  Expr out = 1;
  for (const Expr& f : factors) out = out * f;
  return out;
}

std::span<const AtomRef> factors_of(const AtomRef& a) {
  return a->kind == AtomKind::product ? std::span(a->factors) : std::span(&a, 1);
}

std::optional<std::vector<AtomRef>> quotient(const AtomRef& a, std::span<const AtomRef> b) {
  std::vector<AtomRef> left;
  size_t j = 0;
  for (const AtomRef& f : factors_of(a)) {
    if (j < b.size() && compare(*f, *b[j]) == 0) {
      ++j;
    } else {
      left.push_back(f);
    }
  }
  if (j < b.size()) return {};
  return left;
}

Expr from_factors(std::vector<AtomRef> factors) {
  if (factors.empty()) return 1;
  if (factors.size() == 1) return from_atom(std::move(factors[0]));
  return from_atom(product_atom(factors, {}));
}

}  // namespace sym
