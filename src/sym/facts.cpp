// The questions and their answers, over the store and the prover.
#include "sym/facts.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "sym/model.h"
#include "sym/prover.h"
#include "sym/store.h"

namespace sym {
namespace {

// Facts of a size that a counterexample must satisfy: those added first; a batch size has
// thousands, about the sizes of every layer, which other layers' values can satisfy.
constexpr size_t max_facts_a_leaf = 64;
constexpr size_t max_facts_a_model = 2'000;

[[noreturn]] void fail_contradiction(const Facts::State& s, const Fact& fact, FactIds others,
                                     const LeafNames& names) {
  sort_ids(others);
  std::string list;
  constexpr size_t most = 4;
  for (size_t i = 0; i < std::min(most, others.size()); ++i) {
    const Fact& other = s.facts[others[i]];
    list +=
        base::format("{}{} ({})", i == 0 ? "" : ", ", print(other.condition, names), other.origin);
  }
  if (others.size() > most) list += base::format(" and {} more", others.size() - most);
  if (list.empty()) list = "sizes are never negative";
  base::fail_user(base::Exit::compiler, "facts about sizes contradict: {} ({}) cannot hold with {}",
                  print(fact.condition, names), fact.origin, list);
}

// The sizes that facts connect with those of a question, and these facts.
struct Surroundings {
  std::vector<Leaf> leaves;
  std::vector<Wish> wishes;  // without defined sizes
};

std::optional<Surroundings> surroundings(const Facts::State& s, const Expr& e) {
  Surroundings out;
  std::unordered_set<uint32_t> seen_leaves, seen_facts;
  const auto visit = [&](const Expr& x) {
    for (const Leaf leaf : leaves(x)) {
      if (seen_leaves.insert(leaf.id).second) out.leaves.push_back(leaf);
    }
  };
  visit(e);
  for (size_t next = 0; next < out.leaves.size(); ++next) {
    const Leaf leaf = out.leaves[next];
    if (const Derived* d = s.definition(leaf)) {
      visit(d->form);
      if (leaf.kind == LeafKind::size) {
        out.wishes.push_back({s.expand(leaf, nullptr), Wish::Kind::nonnegative});
      }
    }
    const auto found = s.leaf_facts.find(leaf.id);
    if (found == s.leaf_facts.end()) continue;
    const std::span<const uint32_t> facts = found->second;
    for (const uint32_t i : facts.first(std::min(facts.size(), max_facts_a_leaf))) {
      if (!seen_facts.insert(i).second) continue;
      if (seen_facts.size() > max_facts_a_model) return {};
      const Condition& c = s.facts[i].condition;
      visit(c.expr);
      const bool zero = c.relation == Condition::Relation::zero;
      const Expr expanded = s.expand(c.expr, nullptr);
      if (expanded.constant()) continue;
      out.wishes.push_back({expanded, zero ? Wish::Kind::zero : Wish::Kind::nonnegative});
    }
  }
  return out;
}

std::optional<int64_t> find(const Model& model, Leaf leaf) {
  const auto at = std::ranges::lower_bound(model, leaf, {}, [](const auto& p) { return p.first; });
  if (at == model.end() || at->first != leaf) return {};
  return at->second;
}

Model counterexample(const Facts::State& s, const Condition& question) {
  auto near = surroundings(s, question.expr);
  if (!near) return {};
  const Expr e = s.expand(question.expr, nullptr);
  const bool zero = question.relation == Condition::Relation::zero;
  near->wishes.push_back(zero ? Wish{e, Wish::Kind::nonzero}
                              : Wish{combine(e, -1, -1, 1), Wish::Kind::nonnegative});
  const auto model = find_model(near->wishes, [](Leaf) { return 1; });
  if (!model) return {};
  Model out;
  for (const Leaf leaf : near->leaves) {
    const Expr value = s.expand(leaf, nullptr);
    out.emplace_back(leaf, evaluate(value, [&](Leaf l) { return find(*model, l).value_or(0); }));
  }
  std::ranges::sort(out);
  return out;
}

Truth truth_of(std::optional<bool> known) {
  return !known ? Truth::unknown : *known ? Truth::yes : Truth::no;
}

}  // namespace

Facts::Facts() : state_(std::make_shared<State>()) {}
Facts::~Facts() = default;
Facts::Facts(const Facts&) = default;
Facts::Facts(Facts&&) noexcept = default;
Facts& Facts::operator=(const Facts&) = default;
Facts& Facts::operator=(Facts&&) noexcept = default;

FactId Facts::add(Fact fact) { return add(std::move(fact), plain_names()); }

FactId Facts::add(Fact fact, const LeafNames& names) {
  const Condition& c = fact.condition;
  const bool equality = c.relation == Condition::Relation::zero;
  // A search for a contradiction may cost a few times what the fact itself does.
  Prover prover(*state_, 64 + 8 * static_cast<int64_t>(weight(c.expr)));
  if (prover.truth(c) == false) fail_contradiction(*state_, fact, prover.used(), names);
  if (state_.use_count() > 1) state_ = std::make_shared<State>(*state_);
  State& s = *state_;
  const auto id = static_cast<uint32_t>(s.facts.size());
  s.facts.push_back(fact);
  FactIds blame;
  const Derived derived{c.expr, {id}};
  const bool consistent =
      equality ? s.add_equality(derived, fact.kind, &blame) : s.add_inequality(derived, &blame);
  if (!consistent) fail_contradiction(s, fact, blame, names);
  for (const Leaf leaf : leaves(c.expr)) s.leaf_facts[leaf.id].push_back(id);
  if (equality && fact.kind != FactKind::definition) s.named.insert(c.expr, {id}, nullptr);
  return {id};
}

const Fact& Facts::fact(FactId id) const { return state_->facts.at(id.value); }

Answer Facts::ask(const Condition& question) const {
  Prover prover(*state_);
  Answer out{.truth = truth_of(prover.truth(question))};
  for (const uint32_t i : prover.used()) out.used.push_back({i});
  if (out.truth != Truth::yes) out.counterexample = counterexample(*state_, question);
  return out;
}

Truth Facts::truth(const Condition& question) const {
  return truth_of(Prover(*state_).truth(question));
}

bool Facts::prove_equal(const Expr& a, const Expr& b) const { return a == b || prove(eq(a, b)); }

std::pair<int64_t, int64_t> Facts::bounds(const Expr& e) const {
  const int64_t low = Prover(*state_).low(e), below = Prover(*state_).low(scale(e, -1));
  return {low, below == no_low ? no_high : -below};
}

int64_t Facts::hint(const Expr& e, const LeafValue& hints) const {
  const auto near = surroundings(*state_, e);
  const auto model = near ? find_model(near->wishes, hints) : std::nullopt;
  if (!model) return evaluate(e, hints);
  return evaluate(state_->expand(e, nullptr), [&](Leaf leaf) {
    const auto known = find(*model, leaf);
    return known ? *known : hints(leaf);
  });
}

std::string explain(const Answer& answer, const Condition& question, const LeafNames& names) {
  std::string out = answer.truth == Truth::yes  ? "always "
                    : answer.truth == Truth::no ? "never "
                                                : "cannot show ";
  out += print(question, names);
  if (answer.truth == Truth::yes || answer.counterexample.empty()) return out;
  constexpr size_t most = 8;
  size_t shown = 0, left_out = 0;
  std::string values;
  for (const Leaf leaf : leaves(question.expr)) {
    const int64_t value = find(answer.counterexample, leaf).value_or(0);
    if (shown == most) {
      ++left_out;
      continue;
    }
    values += base::format("{}{}={}", shown++ == 0 ? "" : ", ", names.name(leaf), value);
  }
  if (left_out != 0) values += base::format(" and {} more sizes", left_out);
  return out + "; example: " + values;
}

}  // namespace sym
