// The questions and their answers, over the store and the prover.
#include "sym/facts.h"

#include <algorithm>
#include <deque>
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

// The facts that bear on the sizes of `e`, and on those these mention, as wishes.
std::optional<std::vector<Wish>> relevant_facts(const Facts::State& s, const Expr& e) {
  std::vector<Wish> out;
  std::deque<Leaf> open;
  std::unordered_set<uint32_t> seen_leaves, seen_facts;
  const auto visit = [&](const Expr& x) {
    for (const Leaf leaf : leaves(x)) {
      if (seen_leaves.insert(leaf.id).second) open.push_back(leaf);
    }
  };
  visit(e);
  while (!open.empty()) {
    const Leaf leaf = open.front();
    open.pop_front();
    if (const Derived* d = s.definition(leaf)) visit(d->form);
    const auto found = s.leaf_facts.find(leaf.id);
    if (found == s.leaf_facts.end()) continue;
    size_t count = 0;
    for (const uint32_t i : found->second) {
      if (count++ == max_facts_a_leaf) break;
      if (!seen_facts.insert(i).second) continue;
      if (seen_facts.size() > max_facts_a_model) return {};
      const Condition& c = s.facts[i].condition;
      visit(c.expr);
      const Expr expanded = s.expand(c.expr, nullptr);
      if (expanded.constant()) continue;
      out.push_back({expanded, c.relation == Condition::Relation::zero ? Wish::Kind::zero
                                                                       : Wish::Kind::nonnegative});
    }
  }
  return out;
}

std::optional<int64_t> find(const Model& model, Leaf leaf) {
  const auto at = std::ranges::lower_bound(model, leaf, {}, [](const auto& p) { return p.first; });
  if (at == model.end() || at->first != leaf) return {};
  return at->second;
}
int64_t value_in(const Model& model, Leaf leaf) { return find(model, leaf).value_or(0); }

// Adds the defined leaves of `e` to a model of its expanded form.
Model with_definitions(const Facts::State& s, const Expr& e, Model model) {
  const Model given = model;
  for (const Leaf leaf : leaves(e)) {
    if (!s.definition(leaf)) continue;
    const Expr value = s.expand(leaf, nullptr);
    model.emplace_back(leaf, evaluate(value, [&](Leaf l) { return value_in(given, l); }));
  }
  std::ranges::sort(model);
  return model;
}

Model counterexample(const Facts::State& s, const Condition& question) {
  auto wishes = relevant_facts(s, question.expr);
  if (!wishes) return {};
  const Expr e = s.expand(question.expr, nullptr);
  const bool zero = question.relation == Condition::Relation::zero;
  wishes->push_back(zero ? Wish{e, Wish::Kind::nonzero}
                         : Wish{combine(e, -1, -1, 1), Wish::Kind::nonnegative});
  const auto model = find_model(*wishes, [](Leaf) { return 1; });
  return model ? with_definitions(s, question.expr, *model) : Model();
}

Answer answer(const Facts::State& s, const Condition& question) {
  Prover prover(s);
  const auto known = prover.truth(question);
  Answer out{.truth = !known ? Truth::unknown : *known ? Truth::yes : Truth::no};
  if (known) {
    for (const uint32_t i : prover.used()) out.used.push_back({i});
  }
  return out;
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
  Answer out = answer(*state_, question);
  if (out.truth != Truth::yes) out.counterexample = counterexample(*state_, question);
  return out;
}

bool Facts::prove(const Condition& question) const {
  return Prover(*state_).truth(question) == true;
}

bool Facts::prove_equal(const Expr& a, const Expr& b) const { return a == b || prove(eq(a, b)); }

std::pair<int64_t, int64_t> Facts::bounds(const Expr& e) const {
  const int64_t low = Prover(*state_).low(e), below = Prover(*state_).low(scale(e, -1));
  return {low, below == no_low ? no_high : -below};
}

int64_t Facts::hint(const Expr& e, const LeafValue& hints) const {
  const auto wishes = relevant_facts(*state_, e);
  const auto model = wishes ? find_model(*wishes, hints) : std::nullopt;
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
    const int64_t value = value_in(answer.counterexample, leaf);
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
