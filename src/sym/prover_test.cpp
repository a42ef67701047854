// The prover against exhaustive search in a small domain, and against z3.
#include <gtest/gtest.h>
#include <z3.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "sym/facts.h"
#include "sym/random_sizes_test.h"

namespace sym_test {
namespace {

using sym::Condition;
using sym::FactKind;
using sym::Facts;
using sym::Truth;

constexpr Leaf leaves[] = {{0}, {1}, {2}, {3, sym::LeafKind::index}};
constexpr int64_t highest = 4;  // sizes are 0..4, the index -4..4
using Values = std::array<int64_t, 4>;

std::vector<Values> domain() {
  std::vector<Values> out;
  for (int64_t a = 0; a <= highest; ++a) {
    for (int64_t b = 0; b <= highest; ++b) {
      for (int64_t c = 0; c <= highest; ++c) {
        for (int64_t d = -highest; d <= highest; ++d) out.push_back({a, b, c, d});
      }
    }
  }
  return out;
}

std::string shown(const Condition& c) { return print(c, sym::plain_names()); }

// A problem with some model: facts that hold in it, and all models of the facts.
struct Problem {
  std::vector<Relation> relations;
  std::vector<Values> models;
  Facts facts;
  std::string text;
};

Problem random_problem(RandomSizes& sizes, std::span<const Values> all) {
  Problem p;
  for (const Leaf leaf : leaves) {
    p.facts.add({sym::le(leaf, highest), FactKind::op_contract, "domain"});
    if (leaf.kind == sym::LeafKind::index) {
      p.facts.add({sym::ge(leaf, -highest), FactKind::op_contract, "domain"});
    }
  }
  const Values& hidden = all[static_cast<size_t>(sizes.below(static_cast<int64_t>(all.size())))];
  for (int tries = 0; tries < 30 && p.relations.size() < 3; ++tries) {
    Relation r = sizes.relation(leaves);
    if (holds(r, hidden) != true) continue;
    p.text += shown(r.condition) + "; ";
    p.facts.add({r.condition, FactKind::user_check, "random"});
    p.relations.push_back(std::move(r));
  }
  for (const Values& v : all) {
    const auto satisfies = [&](const Relation& r) { return holds(r, v) == true; };
    if (std::ranges::all_of(p.relations, satisfies)) p.models.push_back(v);
  }
  return p;
}

struct Score {
  int decidable = 0, decided = 0, open = 0, examples = 0;
};

// An example names the sizes of the question and all that facts connect them with.
void check_example(const Problem& p, const Relation& question, const sym::Answer& answer,
                   const std::string& about) {
  Values v{};
  std::array<bool, 4> given{};
  for (const auto& [leaf, value] : answer.counterexample) {
    v[leaf.id] = value, given[leaf.id] = true;
  }
  const auto named = [&](Leaf leaf) { return given[leaf.id]; };
  ASSERT_TRUE(std::ranges::all_of(sym::leaves(question.condition.expr), named)) << about;
  for (const Relation& r : p.relations) {
    const std::vector<Leaf> inside = sym::leaves(r.condition.expr);
    if (std::ranges::none_of(inside, named)) continue;
    ASSERT_TRUE(std::ranges::all_of(inside, named)) << about;
    ASSERT_NE(holds(r, v), false) << about;  // a divisor that cancelled may be 0
  }
  ASSERT_NE(holds(question, v), true) << about;
}

void check_question(const Problem& p, const Relation& question, Score& score) {
  int yes = 0, no = 0;
  for (const Values& v : p.models) {
    const auto truth = holds(question, v);
    if (!truth) return;  // a division by zero
    ++(*truth ? yes : no);
  }
  const sym::Answer answer = p.facts.ask(question.condition);
  const std::string about = p.text + " |- " + shown(question.condition);
  ASSERT_TRUE(answer.truth != Truth::yes || no == 0) << about;
  ASSERT_TRUE(answer.truth != Truth::no || yes == 0) << about;
  const bool decidable = yes == 0 || no == 0;
  ++(decidable ? score.decidable : score.open);
  score.decided += answer.truth != Truth::unknown;
  if (answer.counterexample.empty()) return;
  score.examples += !decidable;
  check_example(p, question, answer, about);
}

void check_simplify(const Problem& p, const TreeRef& tree) {
  const Expr e = normal_form(*tree, leaves), simple = p.facts.simplify(e);
  const auto [low, high] = p.facts.bounds(e);
  for (const Values& v : p.models) {
    const auto expected = value(*tree, v);
    if (!expected) continue;
    const std::string about = p.text + " |- " + print(e, sym::plain_names());
    ASSERT_EQ(evaluate(simple, [&](Leaf leaf) { return v[leaf.id]; }), *expected)
        << about << " became " << print(simple, sym::plain_names());
    ASSERT_GE(*expected, low) << about;
    ASSERT_LE(*expected, high) << about;
  }
  ASSERT_EQ(p.facts.simplify(simple), simple) << p.text << print(e, sym::plain_names());
}

TEST(SemanticCases, Z3_answers_hold_in_every_model_of_a_small_domain) {
  constexpr uint64_t seed = 7;
  const std::vector<Values> all = domain();
  RandomSizes sizes(seed);
  Score score;
  for (int i = 0; i < 250; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " problem " << i);
    const Problem p = random_problem(sizes, all);
    for (int k = 0; k < 5; ++k) {
      check_question(p, sizes.relation(leaves), score);
      check_simplify(p, sizes.tree(3, std::size(leaves)));
      if (HasFatalFailure()) return;
    }
  }
  std::printf("decided %d of %d decidable questions, found examples for %d of %d open ones\n",
              score.decided, score.decidable, score.examples, score.open);
  EXPECT_GE(score.decided * 100, score.decidable * 92);
  EXPECT_GE(score.examples * 100, score.open * 98);
}

// One z3 context with a variable for each leaf.
class Oracle {
 public:
  Oracle() {
    Z3_config config = Z3_mk_config();
    context_ = Z3_mk_context(config);
    Z3_del_config(config);
    solver_ = Z3_mk_solver(context_);
    Z3_solver_inc_ref(context_, solver_);
    Z3_params limits = Z3_mk_params(context_);
    Z3_params_inc_ref(context_, limits);
    Z3_params_set_uint(context_, limits, Z3_mk_string_symbol(context_, "rlimit"), 400'000);
    Z3_solver_set_params(context_, solver_, limits);
    Z3_params_dec_ref(context_, limits);
    for (const Leaf leaf : leaves) {
      const Z3_symbol name = Z3_mk_int_symbol(context_, static_cast<int>(leaf.id));
      variables_.push_back(Z3_mk_const(context_, name, Z3_mk_int_sort(context_)));
      if (leaf.kind == sym::LeafKind::size) {
        Z3_solver_assert(context_, solver_, Z3_mk_ge(context_, variables_.back(), number(0)));
      }
    }
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() {
    Z3_solver_dec_ref(context_, solver_);
    Z3_del_context(context_);
  }

  void assume(const Relation& r) { Z3_solver_assert(context_, solver_, relation(r)); }
  // Whether the question can be true, and whether it can be false.
  std::pair<Z3_lbool, Z3_lbool> possible(const Relation& question) {
    return {possible(relation(question)), possible(Z3_mk_not(context_, relation(question)))};
  }

 private:
  Z3_ast number(int64_t n) { return Z3_mk_int64(context_, n, Z3_mk_int_sort(context_)); }
  Z3_ast relation(const Relation& r) {
    const Z3_ast e = term(*r.tree);
    return r.equality ? Z3_mk_eq(context_, e, number(0)) : Z3_mk_ge(context_, e, number(0));
  }
  Z3_lbool possible(Z3_ast condition) {
    Z3_solver_push(context_, solver_);
    Z3_solver_assert(context_, solver_, condition);
    const Z3_lbool out = Z3_solver_check(context_, solver_);
    Z3_solver_pop(context_, solver_, 1);
    return out;
  }
  Z3_ast term(const Tree& t);

  Z3_context context_;
  Z3_solver solver_;
  std::vector<Z3_ast> variables_;
};

Z3_ast Oracle::term(const Tree& t) {
  std::vector<Z3_ast> v;
  for (const TreeRef& p : t.parts) v.push_back(term(*p));
  using Kind = Tree::Kind;
  switch (t.kind) {
    case Kind::number:
      return number(t.number);
    case Kind::leaf:
      return variables_[static_cast<size_t>(t.number)];
    case Kind::add:
      return Z3_mk_add(context_, 2, v.data());
    case Kind::sub:
      return Z3_mk_sub(context_, 2, v.data());
    case Kind::mul:
      return Z3_mk_mul(context_, 2, v.data());
    case Kind::fdiv:  // divisors are positive numbers here, for which z3 rounds down too
      return Z3_mk_div(context_, v[0], v[1]);
    case Kind::mod:
      return Z3_mk_mod(context_, v[0], v[1]);
    case Kind::min:
      return Z3_mk_ite(context_, Z3_mk_le(context_, v[0], v[1]), v[0], v[1]);
    case Kind::max:
      return Z3_mk_ite(context_, Z3_mk_ge(context_, v[0], v[1]), v[0], v[1]);
    case Kind::sel_nonnegative:
      return Z3_mk_ite(context_, Z3_mk_ge(context_, v[0], number(0)), v[1], v[2]);
    case Kind::sel_zero:
      return Z3_mk_ite(context_, Z3_mk_eq(context_, v[0], number(0)), v[1], v[2]);
  }
  return nullptr;
}

TEST(SemanticCases, Z3_answers_agree_with_an_smt_solver) {
  constexpr uint64_t seed = 11;
  RandomSizes sizes(seed);
  sizes.products = sizes.symbolic_divisors = false;
  int decidable = 0, decided = 0;
  for (int i = 0; i < 150; ++i) {
    Oracle oracle;
    Facts facts;
    std::string text = "seed " + std::to_string(seed) + " problem " + std::to_string(i) + ": ";
    const Values hidden{sizes.below(30), sizes.below(30), sizes.below(30), sizes.below(30) - 15};
    for (int tries = 0, kept = 0; tries < 30 && kept < 3; ++tries) {
      const Relation r = sizes.relation(leaves);
      if (holds(r, hidden) != true) continue;
      oracle.assume(r);
      text += shown(r.condition) + "; ";
      facts.add({r.condition, FactKind::user_check, "random"});
      ++kept;
    }
    for (int k = 0; k < 4; ++k) {
      const Relation question = sizes.relation(leaves);
      const auto [can_hold, can_fail] = oracle.possible(question);
      const Truth found = facts.ask(question.condition).truth;
      const std::string about = text + " |- " + shown(question.condition);
      ASSERT_FALSE(found == Truth::yes && can_fail == Z3_L_TRUE) << about;
      ASSERT_FALSE(found == Truth::no && can_hold == Z3_L_TRUE) << about;
      const bool settled = can_hold == Z3_L_FALSE || can_fail == Z3_L_FALSE;
      decidable += settled;
      decided += settled && found != Truth::unknown;
    }
  }
  std::printf("decided %d of %d questions that z3 decides\n", decided, decidable);
  EXPECT_GE(decided * 100, decidable * 92);
}

}  // namespace
}  // namespace sym_test
