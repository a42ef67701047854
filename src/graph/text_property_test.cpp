// Properties of the text form over random graphs, and its speed on a large one.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

#include "base/error.h"
#include "graph/random_graph_test.h"
#include "graph/text.h"

namespace graph {
namespace {

// Design 6.5: a graph reads back from its text, folded or full, and prints the same again.
TEST(TextProperty, RandomGraphsReadBack) {
  size_t folds = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph g = fake::random_graph(seed);
    verify(g, fake::table());
    const std::string folded = print(g), full = print(g, Fold::none);
    folds += folded != full;
    const Graph a = parse(folded, "folded.graph", fake::table());
    const Graph b = parse(full, "full.graph", fake::table());
    ASSERT_TRUE(same_structure(g, a)) << folded;
    ASSERT_TRUE(same_structure(g, b)) << full;
    ASSERT_EQ(structural_hash(g), structural_hash(a)) << folded;
    ASSERT_EQ(structural_hash(g), structural_hash(b)) << full;
    ASSERT_EQ(print(a), folded);
    ASSERT_EQ(print(a, Fold::none), full);
    ASSERT_EQ(print(b), folded);
    verify(a, fake::table());
  }
  EXPECT_GT(folds, 70u);  // else the loops of the generator no longer fold
}

// Each single change makes another graph with another text; nothing in a graph is unseen.
TEST(TextProperty, EveryChangeShows) {
  std::mt19937_64 random(7);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph g = fake::random_graph(seed);
    const std::string text = print(g);
    const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const auto expect_other = [&](const Graph& changed, const char* what) {
      EXPECT_FALSE(same_structure(g, changed)) << what << "\n" << text;
      EXPECT_NE(structural_hash(g), structural_hash(changed)) << what << "\n" << text;
      EXPECT_NE(print(changed), text) << what;
    };
    Graph c = g;
    c.title += "!";
    expect_other(c, "title");
    c = g;
    c.returns.push_back(g.inputs[0].value);
    expect_other(c, "returns");
    c = g;
    Input& input = c.inputs[pick(c.inputs.size())];
    input.label += "!";
    expect_other(c, "label");
    c = g;
    SizeInfo& size = c.sizes[pick(c.sizes.size())];
    size.name += "_other";
    expect_other(c, "size name");
    c = g;
    const Input& typed = c.inputs[pick(c.inputs.size())];
    c.values[typed.value.id].type.dims.push_back(Expr(12345));
    expect_other(c, "input type");
    if (g.nodes.empty()) continue;
    c = g;
    Node& node = c.nodes[pick(c.nodes.size())];
    if (!node.out.empty()) {
      c.values[node.out[0].id].name += "_other";
      expect_other(c, "value name");
      c = g;
      c.values[g.nodes[static_cast<size_t>(&node - c.nodes.data())].out[0].id].type.placements = {
          {"dp", mesh::Placement::Kind::shard, 7}};
      expect_other(c, "placement");
    }
    c = g;
    c.scopes.push_back("elsewhere");
    c.nodes[pick(c.nodes.size())].scope = {static_cast<uint32_t>(c.scopes.size() - 1)};
    expect_other(c, "scope");
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      if (g.nodes[i].op != &fake::tag) continue;
      c = g;
      c.nodes[i].attrs.values()[4] = int64_t{77};
      expect_other(c, "attribute");
    }
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// 20 layers of 256 looped experts, a third of the largest flavor: linear, so a second. Printed
// for the record; the bound only catches a quadratic slip.
TEST(TextProperty, LargeGraph) {
  Builder b("large", "", fake::table());
  const Expr N = b.size("N", 6), D = b.constant("D", 4);
  Value h = b.input(InputKind::in, "x", {DType::f32, {N, D}, {}});
  for (int l = 0; l < 20; ++l) {
    const Scope layer(b, base::format("layers.{}", l));
    const Value counts =
        b.named("count", b.add1(b, fake::zeros, {}, {}, {{DType::i64, {256}, {}}}));
    const std::vector<Expr> u = b.add_sizes(b, fake::sizes, counts, 256, "u");
    const Value rows =
        b.named("rows", b.add1(b, fake::zeros, {}, {}, {{DType::f32, {sym::sum(u), D}, {}}}));
    Values parts = b.add(b, fake::split, {{rows}}, {{"dim", int64_t{0}}, {"sizes", u}});
    for (int e = 0; e < 256; ++e) {
      const Value x = b.named(base::format("x{}", e), parts[e]);
      Value y = x;
      for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "i", "j", "k", "m", "n"}) {
        const Value in[] = {y, x};
        y = b.named(base::format("{}{}", name, e), b.add1(b, fake::mul, in));
      }
      const Value in[] = {y};
      parts[e] = b.named(base::format("y{}", e), b.add1(b, fake::silu, in));
    }
    b.named("cat", b.add1(b, fake::concat, parts, {{"dim", int64_t{0}}}));
    const Value in[] = {h};
    h = b.named("h", b.add1(b, fake::silu, in));
  }
  b.return_value(h);
  const Graph g = std::move(b).finish();
  auto start = std::chrono::steady_clock::now();
  const std::string folded = print(g);
  const double folded_s = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const std::string full = print(g, Fold::none);
  const double full_s = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const Graph again = parse(folded, "large.graph", fake::table());
  const double parse_s = seconds_since(start);
  start = std::chrono::steady_clock::now();
  EXPECT_TRUE(same_structure(g, again));
  EXPECT_EQ(structural_hash(g), structural_hash(again));
  const double compare_s = seconds_since(start);
  std::cout << g.nodes.size() << " nodes: print folded " << folded_s << " s (" << folded.size()
            << " bytes), full " << full_s << " s (" << full.size() << " bytes), parse " << parse_s
            << " s, compare and hash " << compare_s << " s\n";
  EXPECT_LT(folded.size(), 5000u);
  EXPECT_LT(folded_s + full_s + parse_s + compare_s, 60);
}

}  // namespace
}  // namespace graph
