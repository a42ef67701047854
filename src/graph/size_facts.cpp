// Facts about the sizes of a graph, with constants and lets expanded before anything is asked.
#include "graph/size_facts.h"

#include "base/error.h"

namespace graph {

sym::Leaf leaf_of(uint32_t size_index) { return {size_index, sym::LeafKind::size}; }

sym::Condition Fact::condition() const {
  switch (relation) {
    case Relation::equal:
      return sym::eq(left, right);
    case Relation::at_most:
      return sym::le(left, right);
    case Relation::at_least:
      return sym::ge(left, right);
  }
  base::fail_internal("fact with relation {}", static_cast<int>(relation));
}

void SizeFacts::define(const SizeInfo& size) {
  switch (size.kind) {
    case SizeKind::constant:
      definitions_.push_back(Expr(size.number));
      break;
    case SizeKind::let:
      definitions_.push_back(expand(size.expression));
      break;
    case SizeKind::run:
    case SizeKind::data:
      definitions_.push_back(std::nullopt);
      return;
  }
  const auto leaf = leaf_of(static_cast<uint32_t>(definitions_.size() - 1));
  facts_.add({sym::eq(leaf, *definitions_.back()), sym::FactKind::definition, size.name});
}

void SizeFacts::add(const Fact& fact, std::string origin, const sym::LeafNames& names) {
  facts_.add(
      {fact.condition(), fact.by_check ? sym::FactKind::user_check : sym::FactKind::op_contract,
       std::move(origin)},
      names);
}

Expr SizeFacts::expand(const Expr& e) const {
  if (e.constant()) return e;
  if (const auto leaf = e.leaf()) {
    const auto& definition = definitions_.at(leaf->id);
    return definition ? *definition : e;
  }
  const auto found = expanded_.find(e.node());
  if (found != expanded_.end()) return found->second.second;
  Expr out = sym::substitute(e, [&](sym::Leaf leaf) {
    const auto& definition = definitions_.at(leaf.id);
    return definition ? *definition : Expr(leaf);
  });
  expanded_.emplace(e.node(), std::pair(e, out));
  return out;
}

sym::Truth SizeFacts::truth(const sym::Condition& condition) const {
  return facts_.truth({condition.relation, expand(condition.expr)});
}

sym::Answer SizeFacts::ask(const sym::Condition& condition) const { return facts_.ask(condition); }

bool SizeFacts::prove(const sym::Condition& condition) const {
  return truth(condition) == sym::Truth::yes;
}

Expr SizeFacts::simplify(const Expr& e) const { return facts_.simplify(e); }

bool SizeFacts::prove_equal(const Expr& a, const Expr& b) const {
  if (a == b) return true;
  const Expr left = expand(a), right = expand(b);
  return left == right || facts_.prove_equal(left, right);
}

std::optional<int64_t> SizeFacts::number(const Expr& e) const { return expand(e).constant(); }

}  // namespace graph
