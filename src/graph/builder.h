// Builds graphs node by node: infers types, proves or checks what ops require, keeps names unique.
#pragma once

#include <deque>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/size_facts.h"

namespace graph {

// What a shape rule sees of the world. In the builder an unproved requirement becomes a check op
// before the node; in the verifier it is an error; the rule cannot tell which.
class Shapes {
 public:
  virtual ~Shapes() = default;

  // Legality: proved, or checked at run time with this message.
  virtual void require(const Fact& fact, std::string_view message) = 0;
  void require_equal(const Expr& a, const Expr& b, std::string_view message);

  // Never legal: UserError "matmul: ..." with the operand types.
  template <class... Args>
  [[noreturn]] void refuse(std::string_view pattern, const Args&... args) const {
    fail(base::format(pattern, args...));
  }
  const std::vector<Type>& given() const { return given_; }  // when the result type is an attribute
  const Type& given_type() const { return given_.at(0); }
  std::string text(const Type& type) const { return display_type(graph_, type); }
  std::string text(const Expr& dim) const { return display_dim(graph_, dim); }
  // The number that `dim` stands for by constants alone, for rules that need one (bins, unbind).
  int64_t number(const Expr& dim, std::string_view what) const;

  // Common refusals of rules.
  void need_rank(const Type& type, size_t rank, std::string_view operand) const;
  void need_dtype(const Type& type, DType dtype, std::string_view operand) const;
  void need_float(const Type& type, std::string_view operand) const;
  void need_same_dtype(const Type& a, const Type& b) const;
  size_t need_dim(const Type& type, int64_t dim) const;  // negative counts from the end

 protected:
  Shapes(const Graph& graph, const SizeFacts& facts, const OpDef& op, std::vector<Type> given)
      : graph_(graph), facts_(facts), op_(op), given_(std::move(given)) {}
  [[noreturn]] void fail(const std::string& message) const;
  const Graph& graph_;
  const SizeFacts& facts_;
  const OpDef& op_;
  std::vector<Type> given_;
};

using NamedAttr = std::pair<std::string_view, Attr>;

// The place in our source that asked for a node: every builder function of ops/ops.h takes a Here
// where its caller writes a Builder, and so records the caller's line.
struct Here {
  Here(Builder& b,
       std::source_location place = std::source_location::current())  // NOLINT: implicit
      : builder(b), source{place.file_name(), place.line()} {}
  Here(Builder& b, SourceLine line) : builder(b), source(line) {}
  Builder& builder;
  SourceLine source;
};

class Builder {
 public:
  Builder(std::string name, std::string title, OpTable table);
  Builder(Graph graph, OpTable table);  // goes on where `graph` ends

  Expr constant(std::string_view name, int64_t value);
  Expr size(std::string_view name, int64_t number);
  Expr let(std::string_view name, const Expr& expression);
  Value input(InputKind kind, std::string_view name, Type type, std::string_view label = "");
  void return_value(Value v) { graph_.returns.push_back(v); }

  // Adds a node. `given` holds the result types of ops whose type is an attribute.
  Values add(const Here& here, const OpDef& op, ValuesIn in,
             std::initializer_list<NamedAttr> attrs = {}, std::vector<Type> given = {});
  Value add1(const Here& here, const OpDef& op, ValuesIn in,
             std::initializer_list<NamedAttr> attrs = {}, std::vector<Type> given = {});
  // The general form, for the reader and for rewrites: attributes by position, names for the
  // results.
  NodeId add_node(Node node, std::vector<Type> given, std::span<const std::string> names);
  // A node that bears `count` data sizes, named prefix0, prefix1, ...; returns them.
  std::vector<Expr> add_sizes(const Here& here, const OpDef& op, Value counts, int64_t count,
                              std::string_view prefix);
  // For the reader: one size more, under its own name in the current scope.
  Expr bear_size(NodeId node, std::string_view name);
  void add_facts(NodeId node, std::vector<Fact> facts);  // of a bearing node, right after its birth

  // Renames v (made unique in its scope) and returns it: `h = b.named("h", mul(b, a, v))`.
  Value named(std::string_view name, Value v);
  Values named(std::string_view prefix, Values vs);  // prefix0, prefix1, ...
  std::string unique_name(std::string_view wish);    // in the current scope
  void move_to_scope(Value v, ScopeId scope);        // its name, made unique there
  // Another form of the same type: the caller has proved the dims equal.
  void set_type(Value v, Type type) { graph_.values.at(v.id).type = std::move(type); }

  const Type& type(Value v) const { return graph_.type(v); }
  const Expr& dim(Value v, size_t d) const { return graph_.type(v).dims.at(d); }
  size_t rank(Value v) const { return graph_.type(v).dims.size(); }

  ScopeId scope() const { return scope_; }
  ScopeId scope_id(std::string_view path);  // made when new
  void set_scope(ScopeId scope) { scope_ = scope; }
  // While set, nodes carry this line instead of their caller's: the backward names the forward's.
  void set_source(SourceLine source) { source_ = source; }
  const Graph& graph() const { return graph_; }
  const SizeFacts& facts() const { return facts_; }
  OpTable table() const { return table_; }
  Graph finish() &&;

 private:
  friend class BuildingShapes;
  uint32_t add_size(SizeInfo info);
  void add_check(const Fact& fact, std::string_view message, SourceLine source);
  std::string unique_size_name(std::string_view wish);
  // Next free number of each name; looked up only, never iterated.
  using Names = std::unordered_map<std::string, uint32_t>;
  static std::string claim(Names& names, std::string_view wish);
  static void release(Names& names, const std::string& name);
  Names& value_names(ScopeId scope) { return value_names_[scope.id]; }

  Graph graph_;
  SizeFacts facts_;
  OpTable table_;
  ScopeId scope_{0};
  SourceLine source_;
  std::unordered_map<std::string, uint32_t> scope_ids_;  // by path
  std::deque<Names> value_names_, size_names_;           // by scope
};

// Enters a scope below the current one for its lifetime: Scope s(b, "layers.1").
class Scope {
 public:
  Scope(Builder& b, std::string_view component);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Builder& builder_;
  ScopeId outer_;
};

// Checks that a graph is well formed: order, scopes, types that re-infer, requirements proved or
// dominated by their check, each size borne once and before its use. Throws InternalError naming
// the node, its source line, what was expected and what was found.
void verify(const Graph& g, OpTable table);

// Lint: where two `const` names with different names but equal numbers meet in one op.
std::vector<std::string> lint(const Graph& g);

}  // namespace graph
