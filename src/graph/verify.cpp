// The verifier: everything that must hold of a graph between two passes.
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "graph/builder.h"

namespace graph {
namespace {

// A requirement must follow from facts: either proved outright, or from a check that stands before.
class VerifyingShapes : public Shapes {
 public:
  VerifyingShapes(const Graph& g, const SizeFacts& facts, const OpDef& op, std::vector<Type> given)
      : Shapes(g, facts, op, std::move(given)) {}
  void require(const Fact& fact, std::string_view message) override {
    if (facts_.prove(fact.condition())) return;
    refuse("{}: neither proved nor checked before this node ({} against {})", message,
           text(fact.left), text(fact.right));
  }
};

class Verifier {
 public:
  Verifier(const Graph& g, OpTable table) : g_(g), table_(table) {}

  void run() {
    check_names();
    for (uint32_t i = 0; i < g_.inputs.size(); ++i) check_input(i);
    for (uint32_t i = 0; i < g_.nodes.size(); ++i) {
      try {
        check_node({i});
      } catch (base::Error& e) {
        base::InternalError error(e.message());
        error.add_note(
            base::format("at node {} of {}: {}", i + 1, g_.nodes.size(), describe_node(g_, {i})));
        throw error;
      }
    }
    for (const Value v : g_.returns) need_defined(v);
    if (born_ != g_.sizes.size()) {
      base::fail_internal("graph {}: size {} has no birth", g_.name, g_.sizes[born_].name);
    }
  }

 private:
  void need(bool condition, std::string_view what) const {
    if (!condition) base::fail_internal("graph {}: {}", g_.name, what);
  }

  void check_names() {
    std::set<std::pair<uint32_t, std::string_view>> values, sizes;
    for (const ValueInfo& v : g_.values) {
      need(v.scope.id < g_.scopes.size(), "value in a scope that does not exist");
      need(values.insert({v.scope.id, v.name}).second,
           base::format("value name %{} is used twice in one scope", v.name));
    }
    for (const SizeInfo& s : g_.sizes) {
      need(s.scope.id < g_.scopes.size(), "size in a scope that does not exist");
      need(sizes.insert({s.scope.id, s.name}).second,
           base::format("size name {} is used twice in one scope", s.name));
    }
    defined_.assign(g_.values.size(), false);
    // Sizes without a bearing node are in force from the start, data sizes from their node on.
    while (born_ < g_.sizes.size() && g_.sizes[born_].kind != SizeKind::data) bear();
  }

  void bear() {
    const SizeInfo& s = g_.sizes[born_];
    if (s.kind == SizeKind::let) {
      need_sizes(s.expression);
      need(facts_.prove(sym::ge(s.expression, 0)),
           base::format("let {} may be negative: {}", s.name, display_dim(g_, s.expression)));
    }
    facts_.define(s);
    ++born_;
  }

  void check_input(uint32_t i) {
    const Value v = g_.inputs[i].value;
    need(v.id < g_.values.size(), "input value does not exist");
    const ValueInfo& info = g_.info(v);
    need(!info.def.valid() && info.result == i, "input value and input list disagree");
    define(v);
  }

  void define(Value v) {
    need(!defined_[v.id], base::format("value {} is defined twice", display_name(g_, v)));
    defined_[v.id] = true;
    for (const Expr& d : g_.type(v).dims) need_sizes(d);
  }

  void need_defined(Value v) const {
    need(v.id < g_.values.size() && defined_[v.id],
         v.id < g_.values.size()
             ? base::format("value {} is used before it is defined", display_name(g_, v))
             : "a value that does not exist is used");
  }

  void need_sizes(const Expr& e) {
    if (e.constant() || !seen_.insert(e.node()).second) return;
    kept_.push_back(e);
    const auto all = sym::leaves(e);
    if (all.empty() || all.back().id < born_) return;
    seen_.erase(e.node());
    base::fail_internal("size {} is used before its birth",
                        all.back().id < g_.sizes.size() ? g_.sizes[all.back().id].name : "?");
  }

  void check_attrs(const Node& n) {
    need(n.attrs.values().size() == n.op->attrs.size(), "attribute count differs from the op's");
    for (const Attr& a : n.attrs.values()) {
      if (const Expr* e = std::get_if<Expr>(&a)) need_sizes(*e);
      if (const auto* list = std::get_if<std::vector<Expr>>(&a)) {
        for (const Expr& e : *list) need_sizes(e);
      }
      if (const Fact* f = std::get_if<Fact>(&a)) need_sizes(f->left), need_sizes(f->right);
    }
  }

  void check_node(NodeId id) {
    const Node& n = g_.node(id);
    need(n.op != nullptr && find_op(table_, n.op->name) == n.op, "op is not in the table");
    Types in;
    for (const Value v : n.in) {
      need_defined(v);
      in.push_back(g_.type(v));
    }
    check_attrs(n);
    std::vector<Type> given;
    if (n.op->type_is_attribute) {
      for (const Value v : n.out) given.push_back(g_.type(v));
    }
    VerifyingShapes shapes(g_, facts_, *n.op, std::move(given));
    const Types inferred = n.op->infer(shapes, in, n.attrs);
    need(inferred.size() == n.out.size(), "result count differs from what the op infers");
    for (size_t i = 0; i < inferred.size(); ++i) check_result(id, n.out[i], i, inferred[i]);
    for (const uint32_t s : n.sizes) {
      need(s == born_ && s < g_.sizes.size() && g_.sizes[s].def == id,
           "data sizes are not borne in order by their node");
      bear();
    }
    while (born_ < g_.sizes.size() && g_.sizes[born_].kind != SizeKind::data) bear();
    for (const Fact& f : n.facts) facts_.add(f, describe_node(g_, id), size_names(g_));
    if (n.op->syntax != Syntax::check) return;
    for (const Attr& a : n.attrs.values()) {
      if (const Fact* f = std::get_if<Fact>(&a))
        facts_.add(*f, describe_node(g_, id), size_names(g_));
    }
  }

  void check_result(NodeId id, Value v, size_t result, const Type& inferred) {
    const ValueInfo& info = g_.info(v);
    need(info.def == id && info.result == result, "result and its node disagree");
    const bool same =
        info.type.dtype == inferred.dtype &&
        std::ranges::equal(info.type.dims, inferred.dims,
                           [&](const Expr& a, const Expr& b) { return facts_.prove_equal(a, b); });
    if (!same) {
      base::fail_internal("type of {} is {}, the op infers {}", display_name(g_, v),
                          display_type(g_, info.type), display_type(g_, inferred));
    }
    define(v);
  }

  const Graph& g_;
  OpTable table_;
  SizeFacts facts_;
  std::vector<bool> defined_;
  size_t born_ = 0;                  // sizes [0, born_) are in force
  std::set<const sym::Node*> seen_;  // dims already looked at: most are shared
  std::vector<Expr> kept_;           // keeps what seen_ points to alive
};

}  // namespace

void verify(const Graph& g, OpTable table) { Verifier(g, table).run(); }

std::vector<std::string> lint(const Graph& g) {
  std::vector<std::string> out;
  SizeFacts facts;
  for (const SizeInfo& s : g.sizes) facts.define(s);
  for (uint32_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    std::map<int64_t, std::string> names;  // by number
    std::set<std::string> meets;
    for (const Value v : n.in) {
      for (const Expr& d : g.type(v).dims) {
        const auto leaf = d.leaf();
        if (!leaf || g.sizes[leaf->id].kind != SizeKind::constant) continue;
        const std::string& name = g.sizes[leaf->id].name;
        const auto [at, fresh] = names.emplace(g.sizes[leaf->id].number, name);
        if (!fresh && at->second != name) meets.insert(at->second + " and " + name);
      }
    }
    for (const std::string& m : meets) {
      out.push_back(
          base::format("{}: {} are different names of one number", describe_node(g, {i}), m));
    }
  }
  return out;
}

}  // namespace graph
