// Builds graphs node by node.
#include "graph/builder.h"

#include <algorithm>

#include "base/error.h"

namespace graph {

// Proves a requirement, or notes the check that has to stand before the node.
class BuildingShapes : public Shapes {
 public:
  BuildingShapes(const Builder& b, const OpDef& op, std::vector<Type> given)
      : Shapes(b.graph_, b.facts_, op, std::move(given)) {}

  void require(const Fact& fact, std::string_view message) override {
    const sym::Truth truth = facts_.truth(fact.condition());
    if (truth == sym::Truth::yes) return;
    if (truth == sym::Truth::no) {
      refuse("{}: {} does not hold", message, display_fact(graph_, fact));
    }
    pending.push_back({fact, std::string(message)});
    pending.back().first.by_check = true;
  }

  std::vector<std::pair<Fact, std::string>> pending;
};

namespace {

std::vector<Attr> positional_attrs(const OpDef& op, std::initializer_list<NamedAttr> named) {
  std::vector<Attr> values(op.attrs.size());
  for (const auto& [name, value] : named) {
    size_t at = 0;
    while (at < op.attrs.size() && op.attrs[at].name != name) ++at;
    if (at == op.attrs.size()) base::fail_internal("op {} has no attribute {}", op.name, name);
    values[at] = value;
  }
  return values;
}

// Fills in defaults and checks kinds; a missing required attribute is the caller's mistake.
void complete_attrs(const OpDef& op, std::span<Attr> values) {
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    const AttrSpec& spec = op.attrs[i];
    Attr& value = values[i];
    if (!std::holds_alternative<std::monostate>(value)) continue;
    if (spec.kind == AttrSpec::Kind::flag) {
      value = false;
    } else if (spec.required) {
      base::fail_user(base::Exit::config, "{}: attribute {} is missing", op.name, spec.name);
    } else if (spec.kind == AttrSpec::Kind::integer) {
      value = static_cast<int64_t>(spec.otherwise);
    } else if (spec.kind == AttrSpec::Kind::number) {
      value = spec.otherwise;
    } else if (spec.kind == AttrSpec::Kind::dim) {
      value = Expr(static_cast<int64_t>(spec.otherwise));
    } else if (spec.kind == AttrSpec::Kind::text) {
      value = std::string();
    }
  }
}

void check_operand_count(const OpDef& op, size_t count) {
  const int n = static_cast<int>(count);
  if (n >= op.min_inputs && (op.max_inputs < 0 || n <= op.max_inputs)) return;
  const std::string expected = op.max_inputs < 0 ? base::format("at least {}", op.min_inputs)
                               : op.min_inputs == op.max_inputs
                                   ? base::format("{}", op.min_inputs)
                                   : base::format("{} to {}", op.min_inputs, op.max_inputs);
  base::fail_user(base::Exit::config, "{}: expected {} operands, found {}", op.name, expected, n);
}

}  // namespace

Builder::Builder(std::string name, std::string title, OpTable table) : table_(table) {
  graph_.name = std::move(name);
  graph_.title = std::move(title);
  scope_ids_[""] = 0;
  value_names_.resize(1);
  size_names_.resize(1);
}

Builder::Builder(Graph graph, OpTable table) : graph_(std::move(graph)), table_(table) {
  for (uint32_t i = 0; i < graph_.scopes.size(); ++i) scope_ids_[graph_.scopes[i]] = i;
  value_names_.resize(graph_.scopes.size());
  size_names_.resize(graph_.scopes.size());
  for (const SizeInfo& s : graph_.sizes) {
    facts_.define(s);
    claim(size_names_[s.scope.id], s.name);
  }
  for (const ValueInfo& v : graph_.values) claim(value_names(v.scope), v.name);
  for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& n = graph_.nodes[i];
    for (const Fact& f : n.facts) facts_.add(f, describe_node(graph_, {i}), size_names(graph_));
    if (n.op->syntax == Syntax::check) {
      for (const Attr& a : n.attrs.values()) {
        if (const Fact* f = std::get_if<Fact>(&a))
          facts_.add(*f, describe_node(graph_, {i}), size_names(graph_));
      }
    }
  }
}

uint32_t Builder::add_size(SizeInfo info) {
  facts_.define(info);
  graph_.sizes.push_back(std::move(info));
  return static_cast<uint32_t>(graph_.sizes.size() - 1);
}

Expr Builder::constant(std::string_view name, int64_t value) {
  return leaf_of(add_size({SizeKind::constant, unique_size_name(name), scope_, value, {}, {}}));
}

Expr Builder::size(std::string_view name, int64_t number) {
  return leaf_of(add_size({SizeKind::run, unique_size_name(name), scope_, number, {}, {}}));
}

Expr Builder::let(std::string_view name, const Expr& expression) {
  // Every leaf counts as a size, and normal forms rely on sizes not being negative.
  if (!facts_.prove(sym::ge(expression, 0))) {
    base::fail_user(base::Exit::config,
                    "let {}: a size is never negative, which is not known of {}", name,
                    display_dim(graph_, expression));
  }
  return leaf_of(add_size({SizeKind::let, unique_size_name(name), scope_, 0, expression, {}}));
}

Value Builder::input(InputKind kind, std::string_view name, Type type, std::string_view label) {
  const Value v{static_cast<uint32_t>(graph_.values.size())};
  const uint32_t place = static_cast<uint32_t>(graph_.inputs.size());
  graph_.values.push_back({std::move(type), {}, place, unique_name(name), scope_});
  graph_.inputs.push_back({kind, v, std::string(label)});
  return v;
}

Values Builder::add(const Here& here, const OpDef& op, ValuesIn in,
                    std::initializer_list<NamedAttr> attrs, std::vector<Type> given) {
  Node node;
  node.op = &op;
  node.in.assign(in.begin(), in.end());
  node.attrs = Attrs(op, positional_attrs(op, attrs));
  node.source = source_.line ? source_ : here.source;
  node.scope = scope_;
  return graph_.node(add_node(std::move(node), std::move(given), {})).out;
}

Value Builder::add1(const Here& here, const OpDef& op, ValuesIn in,
                    std::initializer_list<NamedAttr> attrs, std::vector<Type> given) {
  const Values out = add(here, op, in, attrs, std::move(given));
  CHECK(out.size() == 1);
  return out[0];
}

NodeId Builder::add_node(Node node, std::vector<Type> given, std::span<const std::string> names) {
  const OpDef& op = *node.op;
  check_operand_count(op, node.in.size());
  complete_attrs(op, node.attrs.values());
  Types in;
  in.reserve(node.in.size());
  for (const Value v : node.in) in.push_back(graph_.values.at(v.id).type);
  BuildingShapes shapes(*this, op, std::move(given));
  Types out = op.infer(shapes, in, node.attrs);
  if (!names.empty() && names.size() != out.size()) {
    base::fail_user(base::Exit::config, "{}: found {} names for its results, expected {}", op.name,
                    names.size(), out.size());
  }
  for (const auto& [fact, message] : shapes.pending) add_check(fact, message, node.source);

  const NodeId id{static_cast<uint32_t>(graph_.nodes.size())};
  const std::string base_name =
      names.empty() && !out.empty() ? unique_name(op.name) : std::string();
  const std::string prefix =
      base_name.empty() || !(base_name.back() >= '0' && base_name.back() <= '9') ? base_name
                                                                                 : base_name + "_";
  for (uint32_t i = 0; i < out.size(); ++i) {
    std::string name = !names.empty()    ? claim(value_names(node.scope), names[i])
                       : out.size() == 1 ? base_name
                                         : unique_name(prefix + std::to_string(i));
    node.out.push_back({static_cast<uint32_t>(graph_.values.size())});
    graph_.values.push_back({std::move(out[i]), id, i, std::move(name), node.scope});
  }
  graph_.nodes.push_back(std::move(node));
  if (op.syntax == Syntax::check) {
    for (Attr& a : graph_.nodes.back().attrs.values()) {
      if (Fact* f = std::get_if<Fact>(&a)) {
        f->by_check = true;
        facts_.add(*f, describe_node(graph_, id), size_names(graph_));
      }
    }
  }
  return id;
}

void Builder::add_check(const Fact& fact, std::string_view message, SourceLine source) {
  const auto op =
      std::ranges::find_if(table_, [](const OpDef* o) { return o->syntax == Syntax::check; });
  if (op == table_.end()) {
    base::fail_user(base::Exit::config, "{}: cannot be shown, and the op table has no check",
                    message);
  }
  Node node;
  node.op = *op;
  std::vector<Attr> values((*op)->attrs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if ((*op)->attrs[i].kind == AttrSpec::Kind::fact) values[i] = fact;
    if ((*op)->attrs[i].name == "msg") values[i] = std::string(message);
  }
  node.attrs = Attrs(**op, std::move(values));
  node.source = source;
  node.scope = scope_;
  add_node(std::move(node), {}, {});
}

std::vector<Expr> Builder::add_sizes(const Here& here, const OpDef& op, Value counts, int64_t count,
                                     std::string_view prefix) {
  Node node;
  node.op = &op;
  node.in = {counts};
  node.attrs = Attrs(op, std::vector<Attr>(op.attrs.size()));
  node.source = source_.line ? source_ : here.source;
  node.scope = scope_;
  const NodeId id = add_node(std::move(node), {}, {});
  std::vector<Expr> out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(bear_size(id, base::format("{}{}", prefix, i)));
  }
  return out;
}

Expr Builder::bear_size(NodeId node, std::string_view name) {
  const uint32_t leaf = add_size({SizeKind::data, unique_size_name(name), scope_, 0, {}, node});
  graph_.nodes.at(node.id).sizes.push_back(leaf);
  return leaf_of(leaf);
}

void Builder::add_facts(NodeId node, std::vector<Fact> facts) {
  for (Fact& f : facts) {
    facts_.add(f, describe_node(graph_, node), size_names(graph_));
    graph_.nodes[node.id].facts.push_back(std::move(f));
  }
}

Value Builder::named(std::string_view name, Value v) {
  ValueInfo& info = graph_.values.at(v.id);
  release(value_names(info.scope), info.name);
  info.name = claim(value_names(info.scope), name);
  return v;
}

Values Builder::named(std::string_view prefix, Values vs) {
  for (size_t i = 0; i < vs.size(); ++i) named(base::format("{}{}", prefix, i), vs[i]);
  return vs;
}

void Builder::move_to_scope(Value v, ScopeId scope) {
  ValueInfo& info = graph_.values.at(v.id);
  release(value_names(info.scope), info.name);
  info.scope = scope;
  info.name = claim(value_names(scope), info.name);
}

// Names are unique within their scope: the second "x" is "x_2". Sizes and values do not clash.
std::string Builder::claim(Names& names, std::string_view wish) {
  const auto [first, fresh] = names.try_emplace(std::string(wish), 2);
  if (fresh) return first->first;
  while (true) {
    std::string next = base::format("{}_{}", wish, first->second++);
    if (names.try_emplace(next, 2).second) return next;
  }
}

// A name that numbers were given out for keeps its counter: without it each next one would be
// searched for from the start.
void Builder::release(Names& names, const std::string& name) {
  const auto at = names.find(name);
  if (at != names.end() && at->second == 2) names.erase(at);
}

std::string Builder::unique_name(std::string_view wish) { return claim(value_names(scope_), wish); }

std::string Builder::unique_size_name(std::string_view wish) {
  return claim(size_names_[scope_.id], wish);
}

ScopeId Builder::scope_id(std::string_view path) {
  const auto [at, fresh] =
      scope_ids_.try_emplace(std::string(path), static_cast<uint32_t>(graph_.scopes.size()));
  if (fresh) {
    graph_.scopes.emplace_back(path);
    value_names_.emplace_back();
    size_names_.emplace_back();
  }
  return {at->second};
}

Graph Builder::finish() && { return std::move(graph_); }

Scope::Scope(Builder& b, std::string_view component) : builder_(b), outer_(b.scope()) {
  const std::string& path = b.graph().scopes.at(outer_.id);
  b.set_scope(
      b.scope_id(path.empty() ? std::string(component) : base::format("{}.{}", path, component)));
}

Scope::~Scope() { builder_.set_scope(outer_); }

}  // namespace graph
