// Random size expressions and the test of the normal form against plain evaluation.
#include "sym/random_sizes_test.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sym_test {
namespace {

using Kind = Tree::Kind;

std::optional<int64_t> in_range(__int128 x) {
  if (x > (__int128{1} << 62) || x < -(__int128{1} << 62)) return {};
  return static_cast<int64_t>(x);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t q = a / b;
  while (static_cast<__int128>(q) * b > a && b > 0) --q;
  while (static_cast<__int128>(q) * b < a && b < 0) --q;
  return q;
}

TreeRef make(Kind kind, std::vector<TreeRef> parts, int64_t number = 0) {
  return std::make_shared<const Tree>(Tree{kind, number, std::move(parts)});
}

}  // namespace

std::optional<int64_t> value(const Tree& t, std::span<const int64_t> leaves) {
  std::vector<int64_t> v;
  for (const TreeRef& p : t.parts) {
    const auto x = value(*p, leaves);
    if (!x) return {};
    v.push_back(*x);
  }
  switch (t.kind) {
    case Kind::number:
      return t.number;
    case Kind::leaf:
      return leaves[static_cast<size_t>(t.number)];
    case Kind::add:
      return in_range(static_cast<__int128>(v[0]) + v[1]);
    case Kind::sub:
      return in_range(static_cast<__int128>(v[0]) - v[1]);
    case Kind::mul:
      return in_range(static_cast<__int128>(v[0]) * v[1]);
    case Kind::fdiv:
      if (v[1] == 0) return {};
      return floor_quotient(v[0], v[1]);
    case Kind::mod:
      if (v[1] == 0) return {};
      return v[0] - v[1] * floor_quotient(v[0], v[1]);
    case Kind::min:
      return std::min(v[0], v[1]);
    case Kind::max:
      return std::max(v[0], v[1]);
    case Kind::sel_nonnegative:
      return v[0] >= 0 ? v[1] : v[2];
    case Kind::sel_zero:
      return v[0] == 0 ? v[1] : v[2];
  }
  return {};
}

Expr normal_form(const Tree& t, std::span<const Leaf> leaves) {
  std::vector<Expr> e;
  for (const TreeRef& p : t.parts) e.push_back(normal_form(*p, leaves));
  switch (t.kind) {
    case Kind::number:
      return t.number;
    case Kind::leaf:
      return leaves[static_cast<size_t>(t.number)];
    case Kind::add:
      return e[0] + e[1];
    case Kind::sub:
      return e[0] - e[1];
    case Kind::mul:
      return e[0] * e[1];
    case Kind::fdiv:
      return sym::fdiv(e[0], e[1]);
    case Kind::mod:
      return sym::mod(e[0], e[1]);
    case Kind::min:
      return sym::min(e[0], e[1]);
    case Kind::max:
      return sym::max(e[0], e[1]);
    case Kind::sel_nonnegative:
      return sym::sel(sym::ge(e[0], 0), e[1], e[2]);
    case Kind::sel_zero:
      return sym::sel(sym::eq(e[0], 0), e[1], e[2]);
  }
  return 0;
}

TreeRef RandomSizes::tree(int depth, int64_t leaf_count) {
  if (depth == 0 || below(8) == 0) {
    if (below(4) == 0) return make(Kind::number, {}, below(13) - 6);
    return make(Kind::leaf, {}, below(leaf_count));
  }
  constexpr Kind kinds[] = {Kind::add, Kind::add,     Kind::sub,
                            Kind::sub, Kind::mul,     Kind::min,
                            Kind::max, Kind::fdiv,    Kind::sel_nonnegative,
                            Kind::mod, Kind::sel_zero};
  const Kind kind = kinds[below(std::size(kinds))];
  std::vector<TreeRef> parts{tree(depth - 1, leaf_count), tree(depth - 1, leaf_count)};
  if (kind == Kind::sel_nonnegative || kind == Kind::sel_zero) {
    parts.push_back(tree(depth - 1, leaf_count));
  }
  if (kind == Kind::mul && (!products || below(2) == 0)) {
    parts[1] = make(Kind::number, {}, below(9) - 4);
  }
  if (kind == Kind::fdiv || kind == Kind::mod) {
    if (!symbolic_divisors || below(2) == 0) parts[1] = make(Kind::number, {}, 1 + below(8));
  }
  return make(kind, std::move(parts));
}

TreeRef RandomSizes::linear(int64_t leaf_count) {
  TreeRef out = make(Kind::number, {}, below(9) - 4);
  for (int64_t n = 1 + below(3); n > 0; --n) {
    TreeRef term = make(Kind::leaf, {}, below(leaf_count));
    term = make(Kind::mul, {make(Kind::number, {}, below(5) - 2), term});
    out = make(Kind::add, {out, term});
  }
  return out;
}

Relation RandomSizes::relation(std::span<const Leaf> leaves) {
  const auto count = static_cast<int64_t>(leaves.size());
  const TreeRef t = below(3) == 0 ? tree(3, count) : linear(count);
  const bool equality = below(3) == 0;
  const Expr e = normal_form(*t, leaves);
  return {t, equality, equality ? sym::eq(e, 0) : sym::ge(e, 0)};
}

std::optional<bool> holds(const Relation& r, std::span<const int64_t> leaves) {
  const auto v = value(*r.tree, leaves);
  if (!v) return {};
  return r.equality ? *v == 0 : *v >= 0;
}

// Z2: the values at which arithmetic changes its mind.
TEST(SemanticCases, Z2_normal_form_agrees_with_plain_evaluation) {
  constexpr uint64_t seed = 20240601;
  constexpr int64_t interesting[] = {0,         1,  2, 3, 7, 8, 127, 128, 4096, (1ll << 31) - 1,
                                     1ll << 31, -1, -7};
  RandomSizes sizes(seed);
  const Leaf leaves[] = {{0}, {1}, {2}, {9, sym::LeafKind::index}};
  int64_t compared = 0, beyond = 0;
  for (int i = 0; i < 6000; ++i) {
    const TreeRef t = sizes.tree(4, std::size(leaves));
    std::optional<Expr> e;
    try {
      e = normal_form(*t, leaves);
    } catch (const base::UserError&) {  // its coefficients pass 64 bits
      continue;
    }
    for (int k = 0; k < 12; ++k) {
      int64_t v[4];
      for (size_t j = 0; j < 4; ++j) v[j] = interesting[sizes.below(j == 3 ? 13 : 11)];
      const auto expected = value(*t, v);
      if (!expected) continue;
      try {
        const int64_t found =
            evaluate(*e, [&](Leaf leaf) { return leaf.id == 9 ? v[3] : v[leaf.id]; });
        ASSERT_EQ(found, *expected)
            << "seed " << seed << " number " << i << ": " << print(*e, sym::plain_names());
        ++compared;
      } catch (const base::UserError&) {
        ++beyond;  // an expanded product passed 128 bits
      }
    }
  }
  EXPECT_GT(compared, 40'000);
  EXPECT_LT(beyond, compared / 50);
}

}  // namespace sym_test
