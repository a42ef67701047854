// The semantic cases (docs/cases.md), as far as they are about sizes alone. A test is named after
// its cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "sym/facts.h"

namespace sym {
namespace {

Expr size(uint32_t id) { return Leaf{id}; }
Expr index(uint32_t id) { return Leaf{id, LeafKind::index}; }

std::vector<Expr> family(uint32_t first, size_t count) {
  std::vector<Expr> out;
  for (size_t i = 0; i < count; ++i) out.push_back(size(first + static_cast<uint32_t>(i)));
  return out;
}

Fact check(Condition c) { return {std::move(c), FactKind::user_check, "check"}; }
Fact contract(Condition c) { return {std::move(c), FactKind::op_contract, "contract"}; }

std::string text(const Expr& e) { return print(e, plain_names()); }

// Rows of x[start:stop:step] on n rows: the clamping rule of symbolic-shapes 6.3.
Expr clamp(const Expr& at, const Expr& n) { return min(max(sel(ge(at, 0), at, at + n), 0), n); }
Expr slice_rows(const Expr& start, const Expr& stop, int64_t step, const Expr& n) {
  return ceildiv(max(clamp(stop, n) - clamp(start, n), 0), step);
}

const Expr u0 = size(20), u1 = size(21), u2 = size(22), n = size(5);

TEST(SemanticCases, B5_slice_typed_before_constraints_are_known) {
  const std::vector<Expr> counts = family(20, 16);
  const Expr total = sum(counts), rows = min(total, n);  // the type of x[0:total]
  Facts facts;
  EXPECT_FALSE(facts.prove_equal(rows, total));
  EXPECT_EQ(facts.simplify(rows), rows);
  facts.add(check(eq(total, rows)));  // split demands that its sizes add up
  facts.add(check(ge(n, total)));     // zeros(n - total) demands a size
  EXPECT_TRUE(facts.prove_equal(rows, total));
  EXPECT_EQ(facts.simplify(rows), total);
  EXPECT_EQ(total + (n - total), n);  // concat of both
  EXPECT_EQ(min(total, n), rows);     // inference again: the same form, no new name
  Facts only_split;
  only_split.add(check(eq(total, rows)));
  EXPECT_TRUE(only_split.prove(ge(n, total)));
}

TEST(SemanticCases, G1_a_check_is_known_afterwards) {
  Facts facts;
  facts.add(check(eq(u0, 10)));
  EXPECT_TRUE(facts.prove(eq(u0, 10)));
  EXPECT_EQ(facts.truth(eq(u0, 11)), Truth::no);
  EXPECT_EQ(facts.truth(ge(u1, 1)), Truth::unknown);
  EXPECT_THROW(facts.add(check(eq(u0, 11))), base::UserError);
}

TEST(SemanticCases, G3_a_sum_over_three_sizes_outlives_the_value_of_one) {
  const Expr s0 = size(0), s1 = size(1);
  Facts facts;
  facts.add(check(eq(u0 + s0 + s1, 102)));
  facts.add(check(eq(s0, 50)));
  EXPECT_TRUE(facts.prove_equal(u0 + s1, 52));
  EXPECT_TRUE(facts.prove(le(u0, 52)));
  EXPECT_EQ(facts.truth(eq(u0, 53)), Truth::no);
}

TEST(SemanticCases, G4_order_of_birth_is_by_number_not_by_text) {
  const std::vector<Expr> u = family(1, 11);
  EXPECT_EQ(leaves(sum(u)).back().id, 11u);
  EXPECT_EQ(text(size(9) + size(10) * 2 + size(2)), "s2 + s9 + 2*s10");
}

TEST(SemanticCases, G5_less_than_implies_different) {
  const Expr s = size(0);
  Facts facts;
  facts.add(check(lt(u0, s)));
  EXPECT_EQ(facts.truth(eq(u0, s)), Truth::no);
  EXPECT_EQ(facts.truth(ge(u0, s)), Truth::no);
  EXPECT_EQ(facts.truth(ge(u0, 1)), Truth::unknown);
}

TEST(SemanticCases, G6_greater_than_four) {
  Facts facts;
  facts.add(check(lt(4, u0)));
  EXPECT_EQ(facts.truth(eq(u0, 4)), Truth::no);
  EXPECT_TRUE(facts.prove(ge(u0, 5)));
  EXPECT_EQ(facts.truth(eq(u0, 0)), Truth::no);
}

TEST(SemanticCases, G7_what_is_proved_names_its_facts_and_the_rest_is_unknown) {
  Facts facts;
  facts.add(check(le(u0, n)));
  const FactId second = facts.add(check(le(u1, u2)));
  const Answer proved = facts.ask(le(u1, u2 + 3));
  EXPECT_EQ(proved.truth, Truth::yes);
  EXPECT_EQ(proved.used, std::vector{second});
  EXPECT_EQ(facts.truth(le(u1, n)), Truth::unknown);
}

TEST(SemanticCases, G9_two_names_for_one_size_after_a_check) {
  Facts facts;
  EXPECT_FALSE(facts.prove_equal(u0, u1));
  facts.add(check(eq(u1, u0)));
  EXPECT_TRUE(facts.prove_equal(fdiv(3 * u1 + 1, 2), fdiv(3 * u0 + 1, 2)));
  EXPECT_TRUE(facts.prove_equal(min(u1 * n, u2), min(u0 * n, u2)));
  // A size stays >= 0 under its other name.
  Facts negative;
  negative.add(check(eq(u0, -1 * index(3))));
  EXPECT_TRUE(negative.prove(le(index(3), 0)));
}

TEST(SemanticCases, G10_nothing_is_replaced_by_what_is_born_later) {
  Facts facts;
  facts.add(check(eq(u0, u2)));
  facts.add(check(eq(n, u1)));
  EXPECT_EQ(facts.simplify(u0), u0);
  EXPECT_EQ(facts.simplify(u2), u0);
  EXPECT_EQ(facts.simplify(u1 + n), 2 * n);
}

TEST(SemanticCases, G11_sums_are_equal_in_any_order) {
  std::vector<Expr> u = family(20, 11);
  const Expr forward = sum(u);
  std::ranges::reverse(u);
  EXPECT_EQ(sum(u), forward);
  EXPECT_EQ(sum(u).hash(), forward.hash());
}

TEST(SemanticCases, H1_a_size_that_nothing_uses) {
  Facts facts;
  facts.add(contract(le(u0, n)));
  EXPECT_TRUE(facts.prove(le(u1, u1 + n)));
}

TEST(SemanticCases, H3_an_old_name_and_a_new_expression_are_one_size) {
  const Expr base = size(1), w = size(9);
  Facts facts;
  facts.add(check(eq(w, fdiv(base + 1, 2))));
  EXPECT_TRUE(facts.prove_equal(w, fdiv(base + 1, 2)));
  EXPECT_TRUE(facts.prove_equal(w * 8, ceildiv(base, 2) * 8));
  EXPECT_EQ(facts.truth(eq(w, 3)), Truth::unknown);  // and it need not be a constant
}

TEST(SemanticCases, I1_equal_forms_are_decided_without_facts) {
  const Facts facts;
  const Expr x = fdiv(u0 * n, u1 + 1) + min(u2, 7);
  EXPECT_EQ(facts.truth(eq(x, x)), Truth::yes);
  EXPECT_EQ(facts.truth(lt(x, x)), Truth::no);
  EXPECT_EQ(facts.truth(eq(x, u0)), Truth::unknown);
}

TEST(SemanticCases, I2_asking_changes_nothing) {
  Facts facts;
  facts.add(check(le(u0, 9)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(facts.truth(eq(u0, 3)), Truth::unknown);
  EXPECT_EQ(facts.truth(eq(fdiv(u0, u1), 1)), Truth::unknown);  // u1 may be 0: no error
}

TEST(SemanticCases, I3_I4_hints_agree_with_facts_and_decide_nothing) {
  Facts facts;
  facts.add(check(eq(u0 + u1, n)));
  const LeafValue hints = [](Leaf) { return 7; };
  const int64_t a = facts.hint(u0, hints), b = facts.hint(u1, hints), s = facts.hint(n, hints);
  EXPECT_EQ(facts.hint(u0 + u1 - n, hints), 0);
  EXPECT_GE(std::min({a, b, s}), 0);
  EXPECT_EQ(facts.truth(eq(u0, 7)), Truth::unknown);
  EXPECT_EQ(Facts().hint(u0 * 2, hints), 14);
}

TEST(SemanticCases, I5_stride_like_questions_are_answered_without_error) {
  const Facts facts;
  EXPECT_TRUE(facts.prove(ge(max(u0, 1), 1)));
  EXPECT_EQ(facts.truth(eq(max(u0, 1), 1)), Truth::unknown);
  EXPECT_EQ(facts.truth(eq(max(u0, 1) * n, u0 * n)), Truth::unknown);
}

TEST(SemanticCases, I6_comparisons_of_sums) {
  Facts facts;
  const Expr total = sum(family(20, 40));
  EXPECT_EQ(facts.truth(ge(total, 0)), Truth::yes);
  EXPECT_EQ(facts.truth(ge(total, 5)), Truth::unknown);
  EXPECT_EQ(facts.truth(ge(index(1) + u0, 0)), Truth::unknown);
  facts.add(check(le(u0, 8)));
  EXPECT_EQ(facts.truth(le(u0, 9)), Truth::yes);
  EXPECT_EQ(facts.truth(ge(u0, 9)), Truth::no);
}

TEST(SemanticCases, J1_equal_sizes_divide_to_one) {
  Facts facts;
  const Expr q = fdiv(u0, u1);
  facts.add(check(eq(u0, u1)));
  facts.add(check(ge(u1, 1)));
  EXPECT_TRUE(facts.prove_equal(q, 1));
  EXPECT_EQ(facts.simplify(q), Expr(1));
}

TEST(SemanticCases, J2_a_size_by_its_half_is_two_only_where_that_is_so) {
  const Expr s = size(0), q = fdiv(s, fdiv(s, 2));
  EXPECT_EQ(Facts().truth(eq(q, 2)), Truth::unknown);
  Facts from_three, from_four, two;
  from_three.add(check(ge(s, 3)));
  EXPECT_EQ(from_three.truth(eq(q, 2)), Truth::unknown);
  from_four.add(check(ge(s, 4)));
  EXPECT_EQ(from_four.truth(eq(q, 2)), Truth::yes);
  two.add(check(eq(s, 2)));
  EXPECT_EQ(two.truth(eq(q, 2)), Truth::yes);
}

TEST(SemanticCases, J3_clean_division_in_both_orders_of_facts) {
  const Expr a = size(1), b = size(2), q = size(9);
  for (const bool division_first : {true, false}) {
    Facts facts;
    facts.add(check(ge(b, 1)));
    if (division_first) facts.add(check(eq(q, fdiv(a, b))));
    facts.add(check(eq(a, b * u0)));
    if (!division_first) facts.add(check(eq(q, fdiv(a, b))));
    EXPECT_TRUE(facts.prove_equal(q, u0)) << division_first;
  }
  Facts divides;
  divides.add(check(eq(mod(a, 8), 0)));
  EXPECT_TRUE(divides.prove_equal(8 * fdiv(a, 8), a));
  EXPECT_TRUE(divides.prove_equal(align(a, 8), a));
  EXPECT_TRUE(divides.prove_equal(4 * fdiv(a, 4), a));
}

TEST(SemanticCases, K1_slices_with_known_order) {
  Facts facts;
  facts.add(check(le(u0, u1)));
  facts.add(check(eq(u1, n)));
  EXPECT_TRUE(facts.prove_equal(slice_rows(u0, n, 1, n), u1 - u0));
  EXPECT_TRUE(facts.prove_equal(slice_rows(0, u0, 1, n), u0));
  const Expr last = slice_rows(-1 * u0, n, 1, n);
  EXPECT_FALSE(facts.prove_equal(last, u0));  // x[-0:] is all rows
  facts.add(check(ge(u0, 1)));
  EXPECT_TRUE(facts.prove_equal(last, u0));
  EXPECT_EQ(facts.simplify(last), u0);
}

TEST(SemanticCases, K2_K3_Y1_rows_of_slices_of_ten) {
  constexpr int64_t none = INT64_MIN;
  struct Row {
    int64_t start, stop, step, rows, first;
  };
  constexpr Row table[] = {{0, 10, 1, 10, 0},    {3, 7, 1, 4, 3},      {-3, none, 1, 3, 7},
                           {none, -3, 1, 7, 0},  {7, 3, 1, 0, -1},     {12, 20, 1, 0, -1},
                           {-20, 5, 1, 5, 0},    {-20, -15, 1, 0, -1}, {0, 0, 1, 0, -1},
                           {2, none, 5, 2, 2},   {-1, none, 5, 1, 9},  {0, 9, 4, 3, 0},
                           {10, none, 1, 0, -1}, {none, 100, 3, 4, 0}};
  const Expr a = index(30), b = index(31);
  for (const Row& r : table) {
    const Expr start = r.start == none ? Expr(0) : a, stop = r.stop == none ? n : b;
    const LeafValue values = [&](Leaf leaf) {
      return leaf.id == 30 ? r.start : leaf.id == 31 ? r.stop : 10;
    };
    EXPECT_EQ(evaluate(slice_rows(start, stop, r.step, n), values), r.rows) << r.start << r.stop;
    if (r.first >= 0) {
      EXPECT_EQ(evaluate(clamp(start, n), values), r.first);
    }
  }
}

TEST(SemanticCases, K2_any_slice_has_between_no_and_all_rows) {
  const Facts facts;
  const Expr rows = slice_rows(index(30), index(31), 1, n);
  EXPECT_TRUE(facts.prove(ge(rows, 0)));
  EXPECT_TRUE(facts.prove(le(rows, n)));
  EXPECT_EQ(facts.truth(eq(rows, n)), Truth::unknown);
}

TEST(SemanticCases, K4_a_stop_past_the_end_takes_all_rows) {
  Facts facts;
  facts.add(check(ge(u0, n)));
  EXPECT_TRUE(facts.prove_equal(slice_rows(0, u0, 1, n), n));
  EXPECT_EQ(facts.simplify(slice_rows(0, u0, 1, n)), n);
}

TEST(SemanticCases, K5_several_dims_at_once) {
  const Expr m = size(6);
  Facts facts;
  facts.add(check(le(u0, n)));
  facts.add(check(le(u1, m)));
  const Expr rows = slice_rows(0, u0, 1, n) * slice_rows(u1, m, 1, m);
  EXPECT_TRUE(facts.prove_equal(rows, u0 * m - u0 * u1));
}

TEST(SemanticCases, K6_narrow_at_the_end_and_out_of_range) {
  const Facts facts;
  const auto fits = [&](const Expr& start, const Expr& length) {
    return facts.truth(le(start + length, n));
  };
  EXPECT_EQ(fits(n, 0), Truth::yes);
  EXPECT_EQ(fits(n, 1), Truth::no);
  EXPECT_EQ(fits(0, n), Truth::yes);
  EXPECT_EQ(fits(u0, 3), Truth::unknown);
  const Expr from_end = sel(ge(index(30), 0), index(30), index(30) + n);
  EXPECT_EQ(evaluate(from_end, [](Leaf l) { return l.id == 30 ? -3 : 10; }), 7);
}

TEST(SemanticCases, L1_L2_both_sides_of_a_cumulative_write_have_one_size) {
  const std::vector<Expr> counts = family(20, 3);
  Facts facts;
  facts.add(contract(eq(sum(counts), n)));
  Expr start = 0;
  for (const Expr& c : counts) {
    const Expr rows = slice_rows(start, start + c, 1, n);
    EXPECT_TRUE(facts.prove_equal(rows, c));
    EXPECT_EQ(facts.simplify(rows), c);
    start = start + c;
  }
  for (const int64_t second : {2, 0}) {
    const LeafValue values = [&](Leaf l) {
      return l.id == 20 ? 3 : l.id == 21 ? second : l.id == 22 ? 5 : 8 + second;
    };
    EXPECT_EQ(evaluate(slice_rows(u0, u0 + u1, 1, n), values), second);
  }
}

TEST(SemanticCases, O1_a_size_that_occurs_twice) {
  const Expr g = u0, g2 = u1, rows = g + g + g2;
  EXPECT_EQ(rows, 2 * g + g2);
  const Facts facts;
  EXPECT_TRUE(facts.prove_equal(rows - g - g, g2));
  EXPECT_TRUE(facts.prove(le(g + g, rows)));
}

TEST(SemanticCases, O6_320_sizes_and_ten_thousand) {
  const std::vector<Expr> u = family(20, 320);
  const Expr total = sum(u), rows = min(total, n);
  Facts facts;
  facts.add(check(eq(total, rows)));
  EXPECT_TRUE(facts.prove_equal(rows, total));
  EXPECT_EQ(facts.simplify(rows), total);
  EXPECT_EQ(text(total), "sum(s20..s339)");
  std::vector<Expr> many = family(0, 10'000);
  std::shuffle(many.begin(), many.end(), std::mt19937_64(3));
  EXPECT_EQ(text(sum(many) * size(20'000)), "s20000*sum(s0..s9999)");
}

}  // namespace
}  // namespace sym
