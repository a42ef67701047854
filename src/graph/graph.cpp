// Attributes, names for messages, hashing and dead nodes of graphs.
#include "graph/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "graph/op.h"

namespace graph {

const Attr& Attrs::get(std::string_view name) const {
  CHECK(op_ != nullptr);
  for (size_t i = 0; i < op_->attrs.size(); ++i) {
    if (op_->attrs[i].name == name) return values_.at(i);
  }
  base::fail_internal("op {} has no attribute {}", op_->name, name);
}

bool Attrs::flag(std::string_view name) const { return std::get<bool>(get(name)); }
int64_t Attrs::integer(std::string_view name) const { return std::get<int64_t>(get(name)); }
double Attrs::number(std::string_view name) const { return std::get<double>(get(name)); }
const std::string& Attrs::text(std::string_view name) const {
  return std::get<std::string>(get(name));
}
const Expr& Attrs::dim(std::string_view name) const { return std::get<Expr>(get(name)); }
const std::vector<Expr>& Attrs::dims(std::string_view name) const {
  return std::get<std::vector<Expr>>(get(name));
}
const std::vector<int64_t>& Attrs::integers(std::string_view name) const {
  return std::get<std::vector<int64_t>>(get(name));
}
const Fact& Attrs::fact(std::string_view name) const { return std::get<Fact>(get(name)); }

const OpDef* find_op(OpTable table, std::string_view name) {
  const auto at =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const OpDef* op, std::string_view n) { return op->name < n; });
  return at != table.end() && (*at)->name == name ? *at : nullptr;
}

namespace {

// "u12" is number 12 of family "u".
std::optional<std::pair<std::string, int64_t>> family_of(const std::string& name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const size_t count = name.size() - digits;
  if (digits == 0 || count == 0 || count > 9 || (count > 1 && name[digits] == '0')) return {};
  return std::pair(name.substr(0, digits), std::stoll(name.substr(digits)));
}

}  // namespace

sym::LeafNames size_names(const Graph& g) {
  return {.name = [&g](sym::Leaf leaf) { return g.sizes.at(leaf.id).name; },
          .family = [&g](sym::Leaf leaf) { return family_of(g.sizes.at(leaf.id).name); }};
}

std::string display_name(const Graph& g, Value v) {
  const ValueInfo& info = g.values.at(v.id);
  const std::string& scope = g.scopes.at(info.scope.id);
  return scope.empty() ? "%" + info.name : "%" + scope + ":" + info.name;
}

std::string display_dim(const Graph& g, const Expr& dim) { return sym::print(dim, size_names(g)); }

std::string display_type(const Graph& g, const Type& type) {
  std::string out = base::to_text(type.dtype) + "[";
  for (size_t i = 0; i < type.dims.size(); ++i) {
    out += (i ? "," : "") + display_dim(g, type.dims[i]);
  }
  return out + "]";
}

std::string_view to_text(Fact::Relation relation) {
  switch (relation) {
    case Fact::Relation::equal:
      return "==";
    case Fact::Relation::at_most:
      return "<=";
    case Fact::Relation::at_least:
      return ">=";
  }
  base::fail_internal("fact with relation {}", static_cast<int>(relation));
}

std::string display_fact(const Graph& g, const Fact& fact) {
  return base::format("{} {} {}", display_dim(g, fact.left), fact.relation,
                      display_dim(g, fact.right));
}

std::string describe_node(const Graph& g, NodeId id) {
  const Node& n = g.nodes.at(id.id);
  std::string results;
  for (size_t i = 0; i < n.out.size() && i < 3; ++i) {
    results += (i ? ", " : " -> ") + display_name(g, n.out[i]);
  }
  if (n.out.size() > 3) results += base::format(", ... ({} results)", n.out.size());
  const std::string file = *n.source.file ? n.source.file : g.text_file;
  return base::format("{}{} ({}:{})", n.op->name, results, file, n.source.line);
}

namespace {

// A graph that a broken pass gives may name what does not exist: an error, not a crash.
void check_indices(const Graph& g) {
  const auto need = [&](bool condition, std::string_view what) {
    if (!condition) base::fail_internal("graph {}: {} that does not exist", g.name, what);
  };
  const auto need_values = [&](ValuesIn values, std::string_view what) {
    for (const Value v : values) need(v.id < g.values.size(), what);
  };
  for (const SizeInfo& s : g.sizes) need(s.scope.id < g.scopes.size(), "a size in a scope");
  for (const ValueInfo& v : g.values) need(v.scope.id < g.scopes.size(), "a value in a scope");
  for (const Input& i : g.inputs) need(i.value.id < g.values.size(), "an input is a value");
  for (const Node& n : g.nodes) {
    need(n.op != nullptr, "a node with an op");
    need(n.scope.id < g.scopes.size(), "a node in a scope");
    need_values(n.in, "a node uses a value");
    need_values(n.out, "a node gives a value");
  }
  need_values(g.returns, "the graph returns a value");
}

// Inputs in their order, then the results of the nodes in theirs: what the text says, whatever the
// numbers in the graph are.
std::vector<uint32_t> places_of_values(const Graph& g) {
  check_indices(g);
  std::vector<uint32_t> places(g.values.size());
  uint32_t next = 0;
  for (const Input& i : g.inputs) places[i.value.id] = next++;
  for (const Node& n : g.nodes) {
    for (const Value v : n.out) places[v.id] = next++;
  }
  return places;
}

// Equal for numbers that print alike: 0 is not -0, and one NaN is like the other.
uint64_t number_bits(double x) { return std::isnan(x) ? 1 : std::bit_cast<uint64_t>(x); }

// A 64-bit mix of everything in a graph that its text shows.
class Hasher {
 public:
  void word(uint64_t x) {
    state_ = (state_ ^ x) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 29;
  }
  void text(std::string_view s) {
    word(s.size());
    for (const char c : s) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    word(1);
  }
  void fact(const Fact& f) {
    word(f.left.hash());
    word(static_cast<uint64_t>(f.relation) * 2 + f.by_check);
    word(f.right.hash());
  }
  void type(const Type& t) {
    word(static_cast<uint64_t>(t.dtype));
    word(t.dims.size());
    for (const Expr& d : t.dims) word(d.hash());
    word(t.placements.size());
    for (const mesh::Placement& p : t.placements) {
      text(p.axis);
      word(static_cast<uint64_t>(p.kind) * 64 + static_cast<uint64_t>(p.dim));
    }
  }
  void attr(const Attr& a) {
    word(a.index());
    std::visit([this](const auto& x) { value(x); }, a);
  }
  uint64_t state() const { return state_; }

 private:
  void value(std::monostate) {}
  void value(bool x) { word(x); }
  void value(int64_t x) { word(static_cast<uint64_t>(x)); }
  void value(double x) { word(number_bits(x)); }
  void value(const std::string& x) { text(x); }
  void value(const Expr& x) { word(x.hash()); }
  void value(const Fact& x) { fact(x); }
  void value(const std::vector<Expr>& xs) {
    word(xs.size());
    for (const Expr& x : xs) word(x.hash());
  }
  void value(const std::vector<int64_t>& xs) {
    word(xs.size());
    for (const int64_t x : xs) word(static_cast<uint64_t>(x));
  }
  uint64_t state_ = 0xCBF29CE484222325u;
};

uint64_t hash_of(std::string_view text) {
  Hasher h;
  h.text(text);
  return h.state();
}

bool same_attr(const Attr& a, const Attr& b) {
  const double *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return x && y ? number_bits(*x) == number_bits(*y) : a == b;
}

// Two graphs side by side.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b)
      : a_(a), b_(b), places_a_(places_of_values(a)), places_b_(places_of_values(b)) {}

  bool same() const {
    const auto with = [this](auto member) {
      return [this, member](const auto& x, const auto& y) { return (this->*member)(x, y); };
    };
    return a_.name == b_.name && a_.title == b_.title &&
           std::ranges::equal(a_.sizes, b_.sizes, with(&Comparison::same_size)) &&
           std::ranges::equal(a_.inputs, b_.inputs, with(&Comparison::same_input)) &&
           std::ranges::equal(a_.nodes, b_.nodes, with(&Comparison::same_node)) &&
           same_values(a_.returns, b_.returns);
  }

 private:
  bool same_scope(ScopeId a, ScopeId b) const { return a_.scopes[a.id] == b_.scopes[b.id]; }

  bool same_size(const SizeInfo& a, const SizeInfo& b) const {
    return a.kind == b.kind && a.name == b.name && same_scope(a.scope, b.scope) &&
           a.number == b.number && a.expression == b.expression && a.def == b.def;
  }

  bool same_input(const Input& a, const Input& b) const {
    return a.kind == b.kind && a.label == b.label && same_info(a.value, b.value);
  }

  bool same_info(Value a, Value b) const {
    const ValueInfo &x = a_.info(a), &y = b_.info(b);
    return x.name == y.name && same_scope(x.scope, y.scope) && x.type == y.type;
  }

  bool same_values(ValuesIn a, ValuesIn b) const {
    return std::ranges::equal(
        a, b, [this](Value x, Value y) { return places_a_[x.id] == places_b_[y.id]; });
  }

  bool same_node(const Node& a, const Node& b) const {
    return a.op == b.op && same_values(a.in, b.in) && a.sizes == b.sizes && a.facts == b.facts &&
           same_scope(a.scope, b.scope) &&
           std::ranges::equal(a.attrs.values(), b.attrs.values(), same_attr) &&
           std::ranges::equal(a.out, b.out, [this](Value x, Value y) { return same_info(x, y); });
  }

  const Graph &a_, &b_;
  std::vector<uint32_t> places_a_, places_b_;
};

}  // namespace

uint64_t structural_hash(const Graph& g) {
  Hasher h;
  h.text(g.name);
  h.text(g.title);
  std::vector<uint64_t> scopes;
  for (const std::string& s : g.scopes) scopes.push_back(hash_of(s));
  const auto add_info = [&](Value v) {
    const ValueInfo& info = g.info(v);
    h.text(info.name);
    h.word(scopes[info.scope.id]);
    h.type(info.type);
  };
  for (const SizeInfo& s : g.sizes) {
    h.word(static_cast<uint64_t>(s.kind));
    h.text(s.name);
    h.word(scopes[s.scope.id]);
    h.word(static_cast<uint64_t>(s.number));
    h.word(s.expression.hash());
  }
  for (const Input& i : g.inputs) {
    h.word(static_cast<uint64_t>(i.kind));
    h.text(i.label);
    add_info(i.value);
  }
  const std::vector<uint32_t> places = places_of_values(g);
  for (const Node& n : g.nodes) {
    h.text(n.op->name);
    h.word(scopes[n.scope.id]);
    h.word(n.in.size());
    for (const Value v : n.in) h.word(places[v.id]);
    for (const Value v : n.out) add_info(v);
    for (const uint32_t s : n.sizes) h.word(s);
    for (const Fact& f : n.facts) h.fact(f);
    for (const Attr& a : n.attrs.values()) h.attr(a);
  }
  for (const Value v : g.returns) h.word(places[v.id]);
  return h.state();
}

bool same_structure(const Graph& a, const Graph& b) { return Comparison(a, b).same(); }

namespace {

// Which nodes something with an effect or a returned value needs.
std::vector<bool> live_nodes(const Graph& g) {
  std::vector<bool> live(g.nodes.size());
  std::vector<NodeId> work;
  const auto need = [&](NodeId id) {
    if (id.valid() && !live[id.id]) live[id.id] = true, work.push_back(id);
  };
  for (uint32_t i = 0; i < g.nodes.size(); ++i) {
    if (g.nodes[i].op->has_effect || !g.nodes[i].sizes.empty()) need({i});
  }
  for (const Value v : g.returns) need(g.info(v).def);
  while (!work.empty()) {
    const Node& n = g.node(work.back());
    work.pop_back();
    for (const Value v : n.in) need(g.info(v).def);
  }
  return live;
}

}  // namespace

Graph without_dead_nodes(Graph g) {
  const std::vector<bool> live = live_nodes(g);
  std::vector<Value> moved(g.values.size());
  uint32_t values = 0;
  for (uint32_t v = 0; v < g.values.size(); ++v) {
    const NodeId def = g.values[v].def;
    if (def.valid() && !live[def.id]) continue;
    moved[v] = {values};
    if (v != values) g.values[values] = std::move(g.values[v]);
    ++values;
  }
  g.values.resize(values);
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < g.nodes.size(); ++i) {
    if (!live[i]) continue;
    if (i != nodes) g.nodes[nodes] = std::move(g.nodes[i]);
    Node& n = g.nodes[nodes];
    for (Value& v : n.in) v = moved[v.id];
    for (Value& v : n.out) v = moved[v.id], g.values[v.id].def = {nodes};
    for (const uint32_t s : n.sizes) g.sizes[s].def = {nodes};
    ++nodes;
  }
  g.nodes.resize(nodes);
  for (Input& i : g.inputs) i.value = moved[i.value.id];
  for (Value& v : g.returns) v = moved[v.id];
  return g;
}

}  // namespace graph
