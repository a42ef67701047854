// A step as one graph: a value, made of indexed nodes in execution order. Names no op.
//
// Sizes are values too: `const` (a number with a name), `size` (fixed for one run, symbolic for the
// compiler), `let` (a name for an expression) and data sizes, borne by a node. A size's index is
// its leaf id in every sym::Expr of the graph.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "mesh/placement.h"
#include "sym/expr.h"

namespace graph {

using base::DType;
using sym::Expr;

struct OpDef;  // graph/op.h

// Strong indices; the default is "none".
template <class Tag>
struct Index {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  auto operator<=>(const Index&) const = default;
};
using Value = Index<struct ValueTag>;
using NodeId = Index<struct NodeTag>;
using ScopeId = Index<struct ScopeTag>;  // index into Graph::scopes; 0 is the top, ""
using Values = std::vector<Value>;
using ValuesIn = std::span<const Value>;

struct Type {
  DType dtype = DType::f32;
  std::vector<Expr> dims;
  mesh::Placements placements;
  bool operator==(const Type&) const = default;  // same normal forms
};
using Types = std::vector<Type>;
using TypesIn = std::span<const Type>;

// A relation between sizes as its author wrote it, and who vouches for it.
struct Fact {
  enum class Relation : uint8_t { equal, at_most, at_least };
  Expr left;
  Relation relation;
  Expr right;
  bool by_check = false;  // enforced by a check, not by the bearing op's contract
  bool operator==(const Fact&) const = default;
  sym::Condition condition() const;
};
std::string_view to_text(Fact::Relation relation);  // "==", "<=", ">="

// One attribute of a node. Positions follow the op's AttrSpec list.
using Attr = std::variant<std::monostate, bool, int64_t, double, std::string, Expr,
                          std::vector<Expr>, std::vector<int64_t>, Fact>;

struct AttrSpec {
  enum class Kind : uint8_t { flag, integer, number, text, dim, dims, integers, fact };
  std::string_view name;
  Kind kind;
  bool required = true;  // else left out of the text when it equals the default
  double otherwise = 0;  // default of an optional integer, number or dim
};

class Attrs {
 public:
  Attrs() = default;
  Attrs(const OpDef& op, std::vector<Attr> values) : op_(&op), values_(std::move(values)) {}
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Expr& dim(std::string_view name) const;
  const std::vector<Expr>& dims(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const Fact& fact(std::string_view name) const;
  std::span<const Attr> values() const { return values_; }
  std::span<Attr> values() { return values_; }
  bool operator==(const Attrs& other) const { return values_ == other.values_; }

 private:
  const Attr& get(std::string_view name) const;
  const OpDef* op_ = nullptr;
  std::vector<Attr> values_;
};

struct SourceLine {
  const char* file = "";  // a literal; the graph text's path is kept in Graph::text_file
  uint32_t line = 0;
};

struct Node {
  const OpDef* op = nullptr;
  Values in, out;
  std::vector<uint32_t> sizes;  // leaf ids borne by this node, in order
  std::vector<Fact> facts;      // known about them ("where ...")
  Attrs attrs;
  ScopeId scope;
  SourceLine source;
};

enum class InputKind : uint8_t { in, param, buffer };

struct ValueInfo {
  Type type;
  NodeId def;           // none: an input of the graph
  uint32_t result = 0;  // which result of the node, or which input of the graph
  std::string name;     // unique within its scope
  ScopeId scope;
};

struct Input {
  InputKind kind;
  Value value;
  std::string label;  // the model's name of it: "layers.0.attention.wq.weight"
};

enum class SizeKind : uint8_t { constant, run, let, data };

struct SizeInfo {
  SizeKind kind;
  std::string name;  // unique within its scope
  ScopeId scope;
  int64_t number = 0;  // constant: its value; run: this run's value, a hint for the compiler
  Expr expression;     // let: what it stands for
  NodeId def;          // data: the node that bears it
};

struct Graph {
  std::string name, title;
  std::string text_file;  // where it was read from; empty when built by code
  std::vector<SizeInfo> sizes;
  std::vector<Input> inputs;
  std::vector<Node> nodes;        // in execution order
  std::vector<ValueInfo> values;  // in order of birth
  std::vector<std::string> scopes{""};
  Values returns;

  const Node& node(NodeId id) const { return nodes[id.id]; }
  const ValueInfo& info(Value v) const { return values[v.id]; }
  const Type& type(Value v) const { return values[v.id].type; }
};

sym::Leaf leaf_of(uint32_t size_index);  // sizes of a graph are never negative

// Names as the text form prints them: "%layers.1.moe:out" for messages, dims with their size names.
std::string display_name(const Graph& g, Value v);
std::string display_type(const Graph& g, const Type& type);
std::string display_dim(const Graph& g, const Expr& dim);
sym::LeafNames size_names(const Graph& g);                   // while g lives
std::string display_fact(const Graph& g, const Fact& fact);  // "u0 <= T", without who vouches
std::string describe_node(const Graph& g, NodeId id);  // "matmul -> %moe:g3 (model/moe.cpp:88)"

// Equal for graphs that print the same text: structure, types, attributes, names. Not the numbering
// of values and scopes, nor scopes that nothing is in.
uint64_t structural_hash(const Graph& g);
bool same_structure(const Graph& a, const Graph& b);

// Drops nodes without effect whose results nobody reads, then renumbers.
Graph without_dead_nodes(Graph g);

}  // namespace graph
