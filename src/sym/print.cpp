// The canonical text of an expression: graph-text 6.3.
#include "base/text.h"
#include "sym/expr.h"
#include "sym/node.h"

namespace sym {
namespace {

struct Member {
  std::string family;
  int64_t number;
};

std::optional<Member> member(const LeafNames& names, Leaf leaf) {
  auto found = names.family(leaf);
  if (!found) return {};
  return Member{std::move(found->first), found->second};
}

// How many of `count` leaves from the first on are neighbours in one family; `leaf(i)` may be none.
template <class LeafAt>
size_t run_length(size_t count, const LeafNames& names, const LeafAt& leaf) {
  const std::optional<Leaf> first = leaf(0);
  const auto start = first ? member(names, *first) : std::nullopt;
  if (!start) return 1;
  size_t n = 1;
  for (; n < count; ++n) {
    const std::optional<Leaf> next = leaf(n);
    if (!next) break;
    const auto m = member(names, *next);
    if (!m || m->family != start->family || m->number != start->number + static_cast<int64_t>(n)) {
      break;
    }
  }
  return n;
}

std::string range_text(const LeafNames& names, Leaf first, Leaf last) {
  return names.name(first) + ".." + names.name(last);
}

constexpr size_t shortest_run = 3;

std::string list_text(std::span<const Expr> args, const LeafNames& names) {
  std::string out;
  for (size_t i = 0; i < args.size();) {
    const size_t n =
        run_length(args.size() - i, names, [&](size_t k) { return args[i + k].leaf(); });
    if (!out.empty()) out += ", ";
    if (n >= shortest_run) {
      out += range_text(names, *args[i].leaf(), *args[i + n - 1].leaf());
      i += n;
    } else {
      out += print(args[i++], names);
    }
  }
  return out;
}

std::string atom_text(const Atom& a, const LeafNames& names) {
  switch (a.kind) {
    case AtomKind::leaf:
      return names.name(a.leaf);
    case AtomKind::product: {
      std::vector<std::string> factors;
      for (const AtomRef& f : a.factors) factors.push_back(atom_text(*f, names));
      return base::join(factors, "*");
    }
    case AtomKind::fdiv:
      return "fdiv(" + list_text(a.args, names) + ")";
    case AtomKind::min:
      return "min(" + list_text(a.args, names) + ")";
    case AtomKind::max:
      return "max(" + list_text(a.args, names) + ")";
    case AtomKind::sel:
      return "sel(" + print(Condition{a.relation, a.args[2]}, names) + ", " +
             print(a.args[0], names) + ", " + print(a.args[1], names) + ")";
    case AtomKind::sum:
      return "(" + print(a.args[0], names) + ")";
  }
  return {};
}

// A term as the product of what a run of terms shares and the one leaf in which they differ.
struct Split {
  std::vector<AtomRef> shared;
  Leaf leaf;
};

// The term split at its factor `place`, if that is a leaf.
std::optional<Split> split_at(const AtomRef& atom, size_t place) {
  const auto factors = factors_of(atom);
  if (place >= factors.size() || factors[place]->kind != AtomKind::leaf) return {};
  Split s{{factors.begin(), factors.end()}, factors[place]->leaf};
  s.shared.erase(s.shared.begin() + static_cast<std::ptrdiff_t>(place));
  return s;
}

struct Run {
  size_t length = 1;
  std::string text;  // without the coefficient
};

// The longest run from terms[0] on that prints as D*sum(u0..u7); length 1 when there is none.
Run longest_run(std::span<const Term> terms, const LeafNames& names) {
  Run best;
  const size_t places = factors_of(terms[0].atom).size();
  for (size_t place = 0; place < places; ++place) {
    const auto first = split_at(terms[0].atom, place);
    if (!first) continue;
    const size_t n = run_length(terms.size(), names, [&](size_t k) -> std::optional<Leaf> {
      if (k == 0) return first->leaf;
      if (terms[k].coef != terms[0].coef) return {};
      const auto next = split_at(terms[k].atom, place);
      const bool same = next && std::ranges::equal(next->shared, first->shared,
                                                   [](const AtomRef& a, const AtomRef& b) {
                                                     return compare(*a, *b) == 0;
                                                   });
      return same ? std::optional(next->leaf) : std::nullopt;
    });
    if (n < shortest_run || n <= best.length) continue;
    std::string text;
    for (const AtomRef& f : first->shared) text += atom_text(*f, names) + "*";
    const Leaf last = split_at(terms[n - 1].atom, place)->leaf;
    best = {n, text + "sum(" + range_text(names, first->leaf, last) + ")"};
  }
  return best;
}

void append(std::string& out, int64_t coef, std::string_view text) {
  const bool negative = coef < 0;
  out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
  const uint64_t size = negative ? 0 - static_cast<uint64_t>(coef) : static_cast<uint64_t>(coef);
  if (text.empty()) {
    out += std::to_string(size);
  } else {
    if (size != 1) out += std::to_string(size) + "*";
    out += text;
  }
}

}  // namespace

std::string print(const Expr& e, const LeafNames& names) {
  std::string out;
  const std::span<const Term> terms = e.node()->terms;
  for (size_t i = 0; i < terms.size();) {
    Run run = longest_run(terms.subspan(i), names);
    if (run.length == 1) run.text = atom_text(*terms[i].atom, names);
    append(out, terms[i].coef, run.text);
    i += run.length;
  }
  if (e.node()->constant != 0 || terms.empty()) append(out, e.node()->constant, "");
  return out;
}

// Each side with positive terms; the side of the latest size stands left: "sum(u0..u7) == K*T".
std::string print(const Condition& c, const LeafNames& names) {
  std::vector<Term> positive, negative;
  uint32_t birth[2] = {0, 0};
  for (const Term& t : c.expr.node()->terms) {
    (t.coef > 0 ? positive : negative).push_back({t.atom, t.coef});
    uint32_t& latest = birth[t.coef > 0];
    latest = std::max(latest, t.atom->birth);
  }
  const bool swap = positive.empty() || (!negative.empty() && birth[0] > birth[1]);
  const int64_t k = c.expr.node()->constant;
  const bool constant_right = k < 0 ? !swap : swap;
  const Expr more = from_terms(std::move(positive), 0);
  const Expr less = combine(from_terms(std::move(negative), 0), -1, 0, 1);
  const Expr left = swap ? less : more, right = swap ? more : less;
  // left + k R right, or left R right + k, whichever keeps the constant positive
  const int64_t on_right = swap ? k : mul64(k, -1);
  const std::string a = print(constant_right ? left : left + mul64(on_right, -1), names);
  const std::string b = print(constant_right ? right + on_right : right, names);
  if (c.relation == Condition::Relation::zero) return a + " == " + b;
  return a + (swap ? " <= " : " >= ") + b;
}

LeafNames plain_names() {
  return {[](Leaf leaf) { return "s" + std::to_string(leaf.id); },
          [](Leaf leaf) { return std::optional(std::pair(std::string("s"), int64_t{leaf.id})); }};
}

}  // namespace sym
