// The semantic cases Y and Z (docs/cases.md), as far as they are about sizes alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "sym/facts.h"

namespace sym {
namespace {

Expr size(uint32_t id) { return Leaf{id}; }

std::vector<Expr> family(uint32_t first, size_t count) {
  std::vector<Expr> out;
  for (size_t i = 0; i < count; ++i) out.push_back(size(first + static_cast<uint32_t>(i)));
  return out;
}

Fact check(Condition c) { return {std::move(c), FactKind::user_check, "check"}; }
Fact contract(Condition c) { return {std::move(c), FactKind::op_contract, "contract"}; }

std::string text(const Expr& e) { return print(e, plain_names()); }

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const base::UserError& e) {
    return e.message();
  }
  return "no error";
}

const Expr u0 = size(20), u1 = size(21), u2 = size(22), n = size(5);
const Expr K = size(1), T = size(2);

TEST(SemanticCases, Y2_division_rounds_down) {
  struct Row {
    int64_t x, d, floor, mod, ceil;
  };
  constexpr Row table[] = {{7, 4, 1, 3, 2},    {-7, 4, -2, 1, -1}, {7, -4, -2, -1, -1},
                           {-7, -4, 1, -3, 2}, {0, 4, 0, 0, 0},    {8, 4, 2, 0, 2},
                           {1, 4, 0, 1, 1},    {-1, 4, -1, 3, 0}};
  for (const Row& r : table) {
    const Expr x = Leaf{1, LeafKind::index}, d = Leaf{2, LeafKind::index};
    const LeafValue values = [&](Leaf leaf) { return leaf.id == 1 ? r.x : r.d; };
    for (const Expr& a : {x, Expr(r.x)}) {
      for (const Expr& b : {d, Expr(r.d)}) {
        EXPECT_EQ(evaluate(fdiv(a, b), values), r.floor);
        EXPECT_EQ(evaluate(mod(a, b), values), r.mod);
        EXPECT_EQ(evaluate(-1 * fdiv(-1 * a, b), values), r.ceil);
      }
    }
    if (r.d < 0) continue;  // ceildiv is for positive divisors
    EXPECT_EQ(evaluate(ceildiv(x, d), values), r.ceil);
  }
}

TEST(SemanticCases, Y3_group_alignment_and_its_bounds) {
  struct Row {
    std::vector<int64_t> counts;
    int64_t a, padded, bound, padded_full, bound_full;
  };
  const Row table[] = {{{0, 7, 8, 0}, 8, 16, 43, 32, 47},
                       {{1, 1, 1, 1, 1, 1, 1, 1}, 16, 128, 128, 128, 136},
                       {{10, 8, 12, 9, 11, 7, 10, 13}, 16, 128, 200, 128, 208},
                       {{64, 0, 0, 0}, 16, 64, 124, 112, 128},
                       {{0, 0, 0, 0}, 8, 0, 28, 32, 32}};
  for (const Row& r : table) {
    const std::vector<Expr> u = family(20, r.counts.size());
    std::vector<Expr> padded, full;
    for (const Expr& c : u) {
      padded.push_back(align(c, r.a));
      full.push_back(max(align(c, r.a), r.a));
    }
    const LeafValue values = [&](Leaf leaf) { return r.counts[leaf.id - 20]; };
    const int64_t total = evaluate(sum(u), values), e = static_cast<int64_t>(u.size());
    EXPECT_EQ(evaluate(sum(padded), values), r.padded);
    EXPECT_EQ(evaluate(sum(full), values), r.padded_full);
    Facts facts;
    facts.add(contract(eq(sum(u), n)));
    EXPECT_TRUE(facts.prove(le(sum(padded), n + e * (r.a - 1))));  // F6
    EXPECT_FALSE(facts.prove(le(sum(padded), n + e * (r.a - 1) - 1)));
    facts.add(contract(eq(n, total)));
    EXPECT_LE(facts.bounds(sum(padded)).second, r.bound);
    EXPECT_GE(facts.bounds(sum(padded)).second, r.padded);
    EXPECT_LE(r.padded_full, r.bound_full);
    if (e <= 4) {                                             // one case split an expert
      EXPECT_TRUE(facts.prove(le(sum(full), r.bound_full)));  // F7
    }
  }
}

// Whether the greatest element offset of a strided view fits 32 bits.
Truth fits_32_bits(const Facts& facts, std::span<const Expr> sizes, std::span<const Expr> strides,
                   const Expr& base) {
  Expr last = base;
  for (size_t i = 0; i < sizes.size(); ++i) last = last + (sizes[i] - 1) * strides[i];
  return facts.truth(le(last, INT32_MAX));
}

TEST(SemanticCases, Y8_Z10_index_width) {
  struct Row {
    std::vector<Expr> sizes, strides;
    Expr base;
    Truth fits;
  };
  Facts facts;
  facts.add(check(le(T, 8192)));
  facts.add(contract(le(u0, T)));
  facts.add(check(le(u1, 239'674)));
  facts.add(check(le(u2, 239'675)));
  const Row table[] = {
      {{239'674, 8'960}, {8'960, 1}, 0, Truth::yes},  // last row 239673, last element 2147479039
      {{239'675, 8'960}, {8'960, 1}, 0, Truth::no},   // 2147487999
      {{u1, 8'960}, {8'960, 1}, 0, Truth::yes},
      {{u2, 8'960}, {8'960, 1}, 0, Truth::unknown},
      {{T, 7'168}, {7'168, 1}, 0, Truth::yes},
      {{u0, 7'168}, {7'168, 1}, 0, Truth::yes},
      {{u0, 7'168}, {7'168, 1}, int64_t{1} << 31, Truth::unknown},
      {{T, 8, 7'168 * 8}, {7'168 * 64, 7'168 * 8, 1}, 0, Truth::unknown},
      {{T, n}, {n, 1}, 0, Truth::unknown}};
  for (size_t i = 0; i < std::size(table); ++i) {
    const Row& r = table[i];
    EXPECT_EQ(fits_32_bits(facts, r.sizes, r.strides, r.base), r.fits) << "row " << i;
  }
}

TEST(SemanticCases, Z1_simplified_forms_do_not_depend_on_the_order_of_facts) {
  const std::vector<Expr> u = family(20, 8);
  const Expr v = size(40), w = size(41);
  std::vector<Fact> facts{contract(eq(sum(u), K * T)), check(le(v, u[0])), check(eq(v, u[1])),
                          check(eq(w, min(v, sum(u)))), check(eq(K * T, n))};
  for (const Expr& e : u) facts.push_back(contract(le(e, T)));
  const std::vector<Expr> questions{
      min(sum(u), K * T), w,         v + sum(u),    min(w, T), max(K * T - sum(u), 0),
      sum(u) - u[3],      2 * w + n, fdiv(v * 3, 3)};
  const std::vector<std::string> expected{"s5", "s21",      "s5 + s21",   "s21",
                                          "0",  "s5 - s23", "s5 + 2*s21", "s21"};
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    Facts all;
    for (const Fact& f : facts) all.add(f);
    std::vector<std::string> found;
    for (const Expr& q : questions) {
      found.push_back(text(all.simplify(q)));
      EXPECT_TRUE(all.prove_equal(all.simplify(q), q)) << text(q);
    }
    EXPECT_EQ(found, expected) << "round " << round << " of seed 5";
    std::shuffle(facts.begin(), facts.end(), random);
  }
}

TEST(SemanticCases, Z4_group_facts) {
  for (const size_t experts : {2, 16, 64, 256}) {
    const std::vector<Expr> u = family(20, experts);
    Facts facts;
    facts.add(contract(eq(sum(u), K * T)));
    for (const Expr& e : u) facts.add(contract(le(e, T)));
    EXPECT_TRUE(facts.prove_equal(sum(u), K * T));
    EXPECT_TRUE(facts.prove_equal(7 * n * sum(u), 7 * n * K * T));
    EXPECT_TRUE(facts.prove(le(sum(u), static_cast<int64_t>(experts) * T)));
    EXPECT_EQ(facts.simplify(min(sum(u), K * T)), K * T);
    Expr offset = 0;
    for (const Expr& e : u) {
      ASSERT_TRUE(facts.prove(ge(offset, 0)));
      ASSERT_TRUE(facts.prove(le(offset + e, K * T)));
      ASSERT_TRUE(facts.prove(le(e, T)));
      ASSERT_TRUE(facts.prove(le(e, K * T)));
      offset = offset + e;
    }
    EXPECT_EQ(facts.truth(le(u[0] + u[1], T)), Truth::unknown);
  }
}

TEST(SemanticCases, Z4_names_of_constants_stay_and_are_known) {
  const Expr D = size(6), H = size(7);
  const std::vector<Expr> u = family(20, 8);
  Facts facts;
  for (const auto& [name, value] : {std::pair(K, Expr(3)), {D, 256}, {H, 256}, {T, n * size(8)}}) {
    facts.add({eq(name, value), FactKind::definition, "const"});
  }
  facts.add(contract(eq(sum(u), K * T)));
  EXPECT_TRUE(facts.prove_equal(D, H));
  EXPECT_TRUE(facts.prove_equal(sum(u) * D, 3 * n * size(8) * H));
  EXPECT_EQ(facts.simplify(D + H), D + H);
  EXPECT_EQ(facts.simplify(min(sum(u), K * T)), K * T);
  EXPECT_EQ(facts.bounds(D * H), std::pair(int64_t{65'536}, int64_t{65'536}));
}

TEST(SemanticCases, Z5_no_bound_without_distinct_ids) {
  const std::vector<Expr> u = family(20, 8);
  Facts facts;
  facts.add(contract(eq(sum(u), K * T)));
  const Answer answer = facts.ask(le(u[3], T));
  EXPECT_EQ(answer.truth, Truth::unknown);
  EXPECT_FALSE(answer.counterexample.empty());
}

TEST(SemanticCases, Z6_count_vectors_satisfy_the_group_facts) {
  struct Counts {
    int64_t k, t;
    std::vector<int64_t> u;
  };
  const Counts table[] = {{2, 6, {3, 3, 3, 3}}, {2, 6, {12, 0, 0, 0}},  {2, 7, {7, 0, 3, 4}},
                          {1, 5, {0, 0, 0, 5}}, {3, 0, {0, 0, 0, 0}},   {3, 1, {1, 1, 0, 1}},
                          {4, 3, {3, 3, 3, 3}}, {2, 13, {7, 5, 11, 3}}, {1, 9, {9}}};
  for (const Counts& c : table) {
    const std::vector<Expr> u = family(20, c.u.size());
    const Expr rows = K * T, total = sum(u);
    const LeafValue values = [&](Leaf l) {
      return l.id == 1 ? c.k : l.id == 2 ? c.t : c.u[l.id - 20];
    };
    EXPECT_TRUE(evaluate(eq(total, rows), values));
    EXPECT_EQ(evaluate(min(total, rows) + max(rows - total, 0), values), c.k * c.t);
  }
}

TEST(SemanticCases, Z13_an_unknown_comes_with_an_example) {
  Facts facts;
  const std::vector<Expr> u = family(20, 4);
  const Expr total = size(30);
  facts.add(check(le(n, 8)));
  facts.add(check(eq(sum(u), total)));
  const Condition question = ge(n, total);
  const Answer answer = facts.ask(question);
  ASSERT_EQ(answer.truth, Truth::unknown);
  ASSERT_FALSE(answer.counterexample.empty());
  const LeafValue values = [&](Leaf leaf) {
    for (const auto& [known, value] : answer.counterexample) {
      if (known == leaf) return value;
    }
    return int64_t{-1};
  };
  EXPECT_FALSE(evaluate(question, values));
  EXPECT_TRUE(evaluate(le(n, 8), values));
  EXPECT_TRUE(evaluate(eq(sum(u), total), values));
  const std::string said = explain(answer, question, plain_names());
  EXPECT_TRUE(said.starts_with("cannot show s30 <= s5; example: s5=")) << said;
}

TEST(SemanticCases, Z14_a_contradiction_names_both_facts) {
  Facts facts;
  facts.add({le(u0 + u1, n), FactKind::user_check, "model.cpp:7"});
  EXPECT_EQ(message_of([&] { facts.add({ge(u0, n + 5), FactKind::user_check, "model.cpp:9"}); }),
            "facts about sizes contradict: s20 >= s5 + 5 (model.cpp:9) cannot hold with s20 + s21 "
            "<= s5 (model.cpp:7)");
  EXPECT_EQ(message_of([&] { facts.add({eq(u2, -1), FactKind::user_check, "model.cpp:11"}); }),
            "facts about sizes contradict: s22 + 1 == 0 (model.cpp:11) cannot hold with sizes are "
            "never negative");
  // What was known before still is.
  EXPECT_TRUE(facts.prove(le(u0, n)));
  facts.add(check(eq(u0, n)));
  EXPECT_TRUE(facts.prove_equal(u1, 0));
  EXPECT_NE(message_of([&] { facts.add(check(eq(u1, 1))); }), "no error");
}

TEST(SemanticCases, Z15_overflow_is_reported) {
  const Expr big = int64_t{1} << 62;
  const std::function<void()> overflows[] = {
      [&] { big + big; }, [&] { big * 2 - 1 + big * 2; }, [&] { (u0 * big) * 4; },
      [&] { evaluate(u0 * u1, [](Leaf) { return int64_t{1} << 40; }); },
      [&] { evaluate(u0 + u1, [](Leaf) { return INT64_MAX; }); }};
  for (const auto& f : overflows) EXPECT_EQ(message_of(f), "size arithmetic exceeds 64 bits");
  EXPECT_EQ(sum(std::vector<Expr>{big, big, big, -1 * big, -1 * big}), big);
  EXPECT_EQ(evaluate(u0 - u1, [](Leaf) { return INT64_MAX; }), 0);
  Facts facts;  // a proof that would overflow is no proof
  facts.add(check(le(u0 * big, u1 * 3)));
  EXPECT_EQ(facts.truth(le(u0 * big, u2 * 5)), Truth::unknown);
}

}  // namespace
}  // namespace sym
