// Semantic cases (docs/cases.md) about what follows from the checks and facts of a graph.
#include <ctime>

#include "passes/cases_test.h"

namespace cases {
namespace {

using sym::Expr;
using sym::Truth;

// Questions at the end of a graph that bears u0, u1, u2, then has these lines.
struct Known {
  explicit Known(const std::string& lines)
      : b(continued("size S=7\nin %n : i64[3]\nu0..u2 = sizes(%n)\n" + lines)),
        u(data_sizes(b)),
        S(size_named(b, "S")) {}
  Truth ask(const sym::Condition& c) const { return b.facts().ask(c).truth; }
  graph::Builder b;
  std::vector<Expr> u;
  Expr S;
};

TEST(SemanticCases, G5_G6_what_an_inequality_implies) {
  const Known less("check(u0 + 1 <= S)");
  EXPECT_EQ(less.ask(sym::eq(less.u[0], less.S)), Truth::no);
  EXPECT_EQ(less.ask(sym::ge(less.u[0], less.S)), Truth::no);
  EXPECT_EQ(less.ask(sym::ge(less.S, 1)), Truth::yes);
  EXPECT_EQ(less.ask(sym::ge(less.u[0], 1)), Truth::unknown);
  const Known more("check(u0 >= 5)");
  EXPECT_EQ(more.ask(sym::eq(more.u[0], 4)), Truth::no);
  EXPECT_EQ(more.ask(sym::eq(more.u[0], 0)), Truth::no);
  EXPECT_EQ(more.ask(sym::ge(more.u[0], 5)), Truth::yes);
  EXPECT_EQ(more.ask(sym::ge(more.u[0], 6)), Truth::unknown);
}

TEST(SemanticCases, G10_I3_equalities_point_back_and_hints_obey_them) {
  const Expr a = sym::Leaf{0}, b = sym::Leaf{1}, c = sym::Leaf{2};
  sym::Facts facts;
  facts.add({sym::eq(b, a), sym::FactKind::user_check, "first"});
  facts.add({sym::eq(a + c, 10), sym::FactKind::user_check, "second"});
  EXPECT_EQ(facts.simplify(b), a);
  EXPECT_EQ(facts.simplify(a), a);
  const auto hints = [](sym::Leaf) { return int64_t{4}; };
  EXPECT_EQ(facts.hint(a + c, hints), 10);
  EXPECT_EQ(facts.hint(a - b, hints), 0);
}

TEST(SemanticCases, I2_I6_Z13_asking_decides_nothing) {
  const Known k("check(u1 <= 9)");
  const Expr sum = k.u[0] + k.u[1] + k.u[2];
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(k.ask(sym::ge(sum, 0)), Truth::yes);
    EXPECT_EQ(k.ask(sym::ge(sum, 5)), Truth::unknown);
    EXPECT_EQ(k.ask(sym::eq(k.u[0], k.u[0])), Truth::yes);
    EXPECT_EQ(k.ask(sym::le(k.u[1], 9)), Truth::yes);
    EXPECT_EQ(k.ask(sym::le(k.u[1], 8)), Truth::unknown);
  }
  const sym::Answer answer = k.b.facts().ask(sym::le(k.u[1], 8));
  ASSERT_EQ(answer.counterexample.size(), 1u);
  EXPECT_EQ(answer.counterexample[0].second, 9);
}

TEST(SemanticCases, J1_J2_J3_J8_divisions_and_products) {
  const Known equal("check(u0 == u1)\ncheck(u1 >= 1)\ncheck(u2 == 4*S)");
  EXPECT_EQ(equal.ask(sym::eq(sym::fdiv(equal.u[0], equal.u[1]), 1)), Truth::yes);
  EXPECT_EQ(equal.ask(sym::eq(sym::fdiv(equal.u[2], 4), equal.S)), Truth::yes);
  EXPECT_EQ(equal.ask(sym::eq(sym::mod(equal.u[2], 4), 0)), Truth::yes);
  const auto twice = [](const Expr& s) { return sym::eq(sym::fdiv(s, sym::fdiv(s, 2)), 2); };
  const Known any(""), two("check(u0 == 2)"), three("check(u0 == 3)");
  EXPECT_NE(any.ask(twice(any.u[0])), Truth::yes);
  EXPECT_EQ(two.ask(twice(two.u[0])), Truth::yes);
  EXPECT_EQ(three.ask(twice(three.u[0])), Truth::no);
  sym::Facts facts;
  const auto [low, high] = facts.bounds(Expr(sym::Leaf{0}) * Expr(sym::Leaf{1}));
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, INT64_MAX);
}

// Group facts of a routing: T tokens, two experts each. Linear time: 16 times the experts may take
// 16 times as long, and as much again for noise.
TEST(SemanticCases, Z4_Z5_what_the_counts_of_experts_prove) {
  double seconds[2] = {};
  for (const int64_t experts : {2, 16, 64, 256}) {
    const std::string n = std::to_string(experts), last = "u" + std::to_string(experts - 1);
    graph::Builder b = continued("size T=64\nin %n : i64[" + n + "]\nu0.." + last +
                                 " = sizes(%n) where sum(u0.." + last + ") == 2*T");
    const std::vector<Expr> u = data_sizes(b);
    const Expr T = size_named(b, "T");
    const double start = static_cast<double>(clock()) / CLOCKS_PER_SEC;
    Expr offset = 0;
    for (const Expr& size : u) {
      offset = offset + size;
      ASSERT_TRUE(b.facts().prove(sym::le(offset, 2 * T))) << experts;
      ASSERT_TRUE(b.facts().prove(sym::le(size, 2 * T)));
    }
    EXPECT_TRUE(b.facts().prove_equal(offset, 2 * T));
    // That one expert gets at most T tokens needs distinct choices, which nobody promised here.
    EXPECT_FALSE(b.facts().prove(sym::le(u[0], T)));
    seconds[experts == 256] = static_cast<double>(clock()) / CLOCKS_PER_SEC - start;
  }
  EXPECT_LT(seconds[1], 5.0);
}

TEST(SemanticCases, Z14_Z15_contradictions_and_overflow_are_errors) {
  try {
    Known("check(u0 >= 5, msg=\"many\")\ncheck(u0 <= 3, msg=\"few\")");
    ADD_FAILURE() << "a contradiction went unnoticed";
  } catch (const base::UserError& e) {
    const std::string message = e.message();
    EXPECT_NE(message.find("u0 >= 5"), std::string::npos) << message;
    EXPECT_NE(message.find("u0 <= 3"), std::string::npos) << message;
  }
  EXPECT_THROW(Expr(INT64_MAX) + 1, base::UserError);
  const Expr square = Expr(sym::Leaf{0}) * Expr(sym::Leaf{0});
  EXPECT_THROW(sym::evaluate(square, [](sym::Leaf) { return int64_t{1} << 32; }), base::UserError);
}

}  // namespace
}  // namespace cases
