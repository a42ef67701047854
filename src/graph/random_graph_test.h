// Random graphs for property tests: every kind of size, name, scope, type and attribute, with runs
// of equal work for the printer to fold and names that clash between scopes.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/fake_ops_test.h"

namespace graph::fake {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed), b_("random", any_string(), table()) {}

  Graph make() {
    for (int64_t i = below(4) + 1; i > 0; --i) add_size();
    for (int64_t i = below(4) + 1; i > 0; --i) add_input();
    for (int64_t i = below(12); i > 0; --i) {
      b_.set_scope(b_.scope_id(any_path()));
      if (below(8) == 0) add_size();
      add_statement();
    }
    b_.set_scope({0});
    for (int64_t i = below(3); i > 0; --i) b_.return_value(any_value());
    return std::move(b_).finish();
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }
  std::string any_name() {
    static const std::vector<std::string> names{"x",      "y",  "h",   "x0",    "x1",  "x2",
                                                "x3",     "a9", "a10", "w_1_2", "r00", "e",
                                                "return", "in", "sum", "l3_q",  "l4_q"};
    return one_of(names);
  }
  std::string any_path() {
    static const std::vector<std::string> paths{
        "",      "", "moe", "layers.0", "layers.1", "layers.2", "layers.1.moe", "layers.2.moe",
        "a.b.c7"};
    return one_of(paths);
  }
  std::string any_string() {
    static const std::vector<std::string> parts{"a",    "layers.",  "12", "007", "\"",
                                                "\\",   "$e",       "${", "\n",  "\t",
                                                "\x01", "\xc3\xa9", "//", "}",   " "};
    std::string out;
    for (int64_t i = below(5); i > 0; --i) out += one_of(parts);
    return below(50) == 0 ? out + "\xff" : out;
  }
  double any_number() {
    static const std::vector<double> numbers{0,
                                             -0.0,
                                             1,
                                             0.1,
                                             1e-6,
                                             1e300,
                                             -3.5,
                                             1.0 / 3,
                                             std::numeric_limits<double>::infinity(),
                                             -std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN(),
                                             std::numeric_limits<double>::denorm_min()};
    return below(2) ? one_of(numbers) : std::bit_cast<double>(random_());
  }
  Expr any_leaf() {
    if (b_.graph().sizes.empty()) return Expr(below(5));
    return leaf_of(static_cast<uint32_t>(below(static_cast<int64_t>(b_.graph().sizes.size()))));
  }
  Expr any_dim(int depth = 0) {
    if (depth > 2) return any_leaf();
    switch (below(depth == 0 ? 14 : 9)) {
      case 0:
        return any_dim(depth + 1) + any_dim(depth + 1);
      case 1:
        return any_dim(depth + 1) - any_leaf();
      case 2:
        return any_leaf() * any_dim(depth + 1);
      case 3:
        return sym::fdiv(any_dim(depth + 1), Expr(below(5) + 1));
      case 4:
        return sym::min(any_dim(depth + 1), any_dim(depth + 1));
      case 5:
        return sym::max(any_leaf(), any_dim(depth + 1));
      case 6:
        return sym::sel(sym::ge(any_leaf(), any_dim(depth + 1)), any_leaf(), Expr(3));
      case 7:
        return Expr(below(20) - 4);
      default:
        return any_leaf();
    }
  }
  std::vector<Expr> any_dims() {
    std::vector<Expr> out;
    for (int64_t i = below(4); i > 0; --i) out.push_back(any_dim());
    return out;
  }
  Fact any_fact() {
    // True in any graph: the builder refuses what contradicts itself.
    const Expr e = any_dim();
    switch (below(3)) {
      case 0:
        return {e, Fact::Relation::at_most, e + below(3), below(2) == 0};
      case 1:
        return {e + below(3), Fact::Relation::at_least, e, below(2) == 0};
      default:
        return {e, Fact::Relation::equal, e, below(2) == 0};
    }
  }
  Type any_type() {
    static const std::vector<DType> dtypes{DType::f32, DType::f64, DType::bf16, DType::f16,
                                           DType::i64, DType::i32, DType::u8,   DType::boolean};
    Type t{one_of(dtypes), any_dims(), {}};
    if (below(10) == 0) t.placements.push_back({"ep", mesh::Placement::Kind::shard, 1});
    if (below(10) == 0) t.placements.push_back({"tp", mesh::Placement::Kind::partial_sum, 0});
    return t;
  }
  Value any_value() {
    return {static_cast<uint32_t>(below(static_cast<int64_t>(b_.graph().values.size())))};
  }

  void add_size() {
    const int64_t kind = below(3);
    if (kind == 0) b_.constant(any_name(), below(10));
    if (kind == 1) b_.size(any_name(), below(10));
    if (kind == 2) b_.let(any_name(), sym::max(any_dim(), Expr(0)));
  }
  void add_input() {
    const ScopeId outer = b_.scope();
    b_.set_scope(b_.scope_id(any_path()));
    b_.input(static_cast<InputKind>(below(3)), any_name(), any_type(), any_string());
    b_.set_scope(outer);
  }

  void add_statement() {
    switch (below(10)) {
      case 0:
        return add_births();
      case 1:
        return add_loop();
      case 2:
        return add_layers();
      case 3:
        b_.add(b_, check, {}, {{"fact", any_fact()}, {"msg", any_string()}});
        return;
      case 4: {
        const Value both[] = {any_value(), any_value()};
        b_.add(b_, update, both);
        return;
      }
      case 5:
        b_.named(any_name(), b_.add1(b_, full, {}, {{"value", any_number()}}, {any_type()}));
        return;
      case 6:
        b_.named(any_name(), b_.add1(b_, zeros, {}, {}, {any_type()}));
        return;
      default:
        add_tag();
    }
  }

  void add_tag() {
    const Value in[] = {any_value()};
    std::vector<int64_t> order;
    for (int64_t i = below(3); i > 0; --i) order.push_back(below(9) - 4);
    const Value y = below(2) ? b_.add1(b_, tag, in)
                             : b_.add1(b_, tag, in,
                                       {{"note", any_string()},
                                        {"order", order},
                                        {"dims", any_dims()},
                                        {"when", any_fact()},
                                        {"level", below(5)}});
    if (below(2)) b_.named(any_name(), y);
    // A value may stand in another scope than its node, after a rewrite.
    if (below(20) == 0) b_.move_to_scope(y, b_.scope_id(any_path()));
  }

  void add_births() {
    const int64_t count = below(5) + 1;
    const Value n = b_.add1(b_, zeros, {}, {}, {{DType::i64, {Expr(count)}, {}}});
    static const std::vector<std::string> prefixes{"u", "v_", "n1_"};
    const std::vector<Expr> born = b_.add_sizes(b_, sizes, n, count, one_of(prefixes));
    const NodeId node{static_cast<uint32_t>(b_.graph().nodes.size() - 1)};
    if (below(2)) b_.add_facts(node, {{born[0], Fact::Relation::at_most, sym::sum(born), true}});
    Type rows{DType::f32, {sym::sum(born), Expr(4)}, {}};
    const Value whole[] = {b_.add1(b_, zeros, {}, {}, {rows})};
    const Values parts = b_.add(b_, split, whole, {{"dim", int64_t{0}}, {"sizes", born}});
    for (size_t i = 0; i < parts.size(); ++i) b_.named("p" + std::to_string(i), parts[i]);
    b_.add1(b_, concat, parts, {{"dim", int64_t{0}}});
    if (below(3) == 0) add_size();
  }

  // The same few nodes again and again, numbered up or down, sometimes with a slip.
  void add_loop() {
    const int64_t first = below(12), count = below(7) + 1, up = below(2), ahead = below(3);
    Value before = any_value();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = up ? first + i : first + count - i;
      const Value a[] = {before};
      before = b_.named("q" + std::to_string(number), b_.add1(b_, silu, a));
      const Value b[] = {before, before};
      const Value r = b_.add1(b_, add, b);
      b_.named("r" + std::to_string(number + ahead) + (ahead == 1 ? "_s" : ""), r);
      if (below(12) == 0) b_.named("slip", b_.add1(b_, tag, a, {{"note", any_string()}}));
    }
  }

  void add_layers() {
    const ScopeId outer = b_.scope();
    const int64_t first = below(3), count = below(6);
    Value h = any_value();
    for (int64_t l = first; l < first + count; ++l) {
      b_.set_scope(b_.scope_id("layers." + std::to_string(l)));
      for (const char* const name : {"f", "g"}) {
        const Value in[] = {h};
        h = b_.named(name, b_.add1(b_, scale, in, {{"by", 0.5}}));
      }
      if (below(4) == 0) add_loop();
    }
    b_.set_scope(outer);
  }

  std::mt19937_64 random_;
  Builder b_;
};

inline Graph random_graph(uint64_t seed) { return RandomGraph(seed).make(); }

}  // namespace graph::fake
