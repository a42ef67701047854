// Types and gradients of layout ops, as graph text: one concat for a split, clamped slices, who is
// broadcast and who is refused.
#include <gtest/gtest.h>

#include "autodiff/gradients.h"
#include "base/error.h"
#include "graph/text.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

using graph::InputKind;

// The lines of the backward of sum(y * weight) that move data.
std::string backward_text(Builder b, const Values& results, Value wrt) {
  Value loss;
  for (const Value y : results) {
    std::vector<int64_t> dims(b.rank(y));
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    const Value part = reduce_sum(b, mul(b, y, b.input(InputKind::in, "w", b.type(y))), dims);
    loss = loss.valid() ? add(b, loss, part) : part;
  }
  const Value wrts[] = {wrt};
  b.return_value(autodiff::gradients(b, loss, wrts)[0]);
  const graph::Graph g = graph::without_dead_nodes(std::move(b).finish());
  graph::verify(g, table());
  std::string kept;
  for (const std::string& line : base::split(graph::print(g, graph::Fold::none), '\n')) {
    const bool data = line.find(" mul(") == line.npos && line.find(" full(") == line.npos &&
                      line.find(" broadcast(") == line.npos && line.find("check(") == line.npos;
    if (line.starts_with("    ") && data) kept += std::string(base::trim(line)) + "\n";
  }
  return kept;
}

struct Program {
  Builder b{"t", "", table()};
  Expr D = b.constant("D", 4);
  Expr E = b.constant("E", 3);
  Expr N = b.size("N", 10);
  Value in(std::string_view name, std::vector<Expr> dims, DType dtype = DType::f32) {
    return b.input(InputKind::in, name, {dtype, std::move(dims), {}});
  }
  std::string type(Value v) const { return graph::display_type(b.graph(), b.type(v)); }
};

// How the text of a type reads with every blank run as one.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

TEST(LayoutRules, SliceByASumOfSizesClampsToTheDim) {
  Program p;
  const Expr K = p.b.constant("K", 3), T = p.b.size("T", 16);
  const Value x = p.in("x", {K * T, p.D});
  const Value counts = p.in("n", {p.E}, DType::i64);
  const std::vector<Expr> u = sizes(p.b, counts, "u", K * T);
  const auto rows = [&](const Expr& stop) { return p.b.dim(slice(p.b, x, 0, 0, stop), 0); };
  EXPECT_EQ(rows(sym::sum(u)), sym::min(sym::sum(u), K * T));
  EXPECT_EQ(rows(K * T), K * T);
  EXPECT_EQ(rows(0), Expr(0));
  EXPECT_EQ(p.b.dim(slice(p.b, x, 1, 1, -1), 1).constant(), std::nullopt) << "facts do not rename";
  EXPECT_EQ(p.b.facts().number(p.b.dim(slice(p.b, x, 1, 1, -1), 1)), 2);
  EXPECT_EQ(p.b.facts().number(p.b.dim(slice(p.b, x, 1, 0, 9, 3), 1)), 2);
}

TEST(LayoutRules, GradientOfSplitIsOneConcatWithZerosForUnusedPieces) {
  Program p;
  const Value x = p.in("x", {p.N, p.D});
  const Values y = split(p.b, x, 0, {p.D, p.N - p.D - 1, 1});
  const std::string text = squeezed(backward_text(p.b, {y[0], y[2]}, x));
  EXPECT_EQ(text,
            "%zeros : f32[-D + N - 1,D] = zeros()\n"
            "%dx : f32[N,D] = concat(%dsplit0, %zeros, %dsplit2, dim=0)\n");
}

TEST(LayoutRules, GradientOfConcatIsOneSplit) {
  Program p;
  const Value x = p.in("x", {p.N, p.D}), z = p.in("z", {p.D, p.D});
  const std::string text = squeezed(backward_text(p.b, {concat(p.b, {{x, z}}, 0)}, x));
  EXPECT_EQ(text, "%dx, %split1 : f32[N,D], f32[D,D] = split(%dconcat, dim=0, sizes=[N, D])\n");
}

TEST(LayoutRules, GradientOfUnbindIsOneConcatUnderTheNameOfTheDim) {
  Program p;
  const Value x = p.in("x", {p.E, p.D});
  const std::string text = squeezed(backward_text(p.b, unbind(p.b, x, 0), x));
  EXPECT_EQ(text,
            "%reshape : f32[1,D] = reshape(%dunbind0)\n"
            "%reshape_2 : f32[1,D] = reshape(%dunbind1)\n"
            "%reshape_3 : f32[1,D] = reshape(%dunbind2)\n"
            "%concat : f32[3,D] = concat(%reshape, %reshape_2, %reshape_3, dim=0)\n"
            "%dx : f32[E,D] = reshape(%concat)\n");
}

TEST(LayoutRules, GradientOfSliceIsAPad) {
  Program p;
  const Value x = p.in("x", {p.N, p.D});
  const std::string text = squeezed(backward_text(p.b, {slice(p.b, x, 0, 0, p.D)}, x));
  EXPECT_EQ(text, "%dx : f32[N,D] = pad(%dslice, dim=0, before=0, after=N - min(D, N))\n");
}

TEST(LayoutRules, BroadcastsByLiteralOneOnly) {
  Program p;
  const Value x = p.in("x", {p.N, p.D}), row = p.in("row", {1, p.D}), s = p.in("s", {});
  EXPECT_EQ(p.type(add(p.b, row, x)), "f32[N,D]");
  EXPECT_EQ(p.type(mul(p.b, s, x)), "f32[N,D]");
  EXPECT_EQ(p.type(select(p.b, compare(p.b, row, s, Order::less), x, s)), "f32[N,D]");
  const size_t nodes = p.b.graph().nodes.size();
  // A size that may happen to be 1 is an equality to be checked, not a broadcast.
  const Expr M = p.b.size("M", 10);
  add(p.b, x, p.in("other", {M, p.D}));
  ASSERT_EQ(p.b.graph().nodes.size(), nodes + 2);
  EXPECT_EQ(p.b.graph().nodes[nodes].op->name, "check");
}

void expect_refused(const std::function<void(Program&)>& build, std::string_view words) {
  Program p;
  try {
    build(p);
    ADD_FAILURE() << "not refused: " << words;
  } catch (const base::UserError& e) {
    EXPECT_NE(e.message().find(words), std::string::npos) << e.message();
  }
}

TEST(LayoutRules, RefusesWhatCanNeverHold) {
  const auto x = [](Program& p) { return p.in("x", {p.N, p.D}); };
  const auto ids = [](Program& p) { return p.in("ids", {p.N}, DType::i64); };
  const auto half = [](Program& p) { return p.in("h", {p.N}, DType::bf16); };
  expect_refused([&](Program& p) { exp(p.b, ids(p)); }, "exp: operand must be f32 or f64");
  expect_refused([&](Program& p) { add(p.b, half(p), half(p)); }, "cast it first");
  expect_refused([&](Program& p) { add(p.b, ids(p), p.in("y", {p.N})); }, "one dtype");
  expect_refused([&](Program& p) { mul(p.b, p.in("a", {2}), p.in("b", {3})); }, "sizes differ");
  expect_refused([&](Program& p) { floordiv(p.b, ids(p), 0); }, "divisor");
  expect_refused([&](Program& p) { permute(p.b, x(p), {0, 0}); }, "each of the 2 dims");
  expect_refused([&](Program& p) { slice(p.b, x(p), 0, 0, 4, 0); }, "step must be at least 1");
  expect_refused([&](Program& p) { slice(p.b, x(p), 2, 0, 4); }, "dim 2 is outside");
  expect_refused([&](Program& p) { narrow(p.b, p.in("a", {5}), 0, 3, 3); }, "lie within");
  expect_refused([&](Program& p) { split(p.b, p.in("a", {5}), 0, {2, 2}); }, "add up");
  expect_refused([&](Program& p) { unbind(p.b, x(p), 0); }, "a number that constants give");
  expect_refused([&](Program& p) { reshape(p.b, p.in("a", {6}), {4}); }, "element counts differ");
  expect_refused([&](Program& p) { concat(p.b, {{p.in("a", {6, 2}), p.in("b", {6, 3})}}, 0); },
                 "other sizes");
  expect_refused([&](Program& p) { pad(p.b, p.in("a", {6}), 0, -1, 0); }, "padding before");
  expect_refused([&](Program& p) { broadcast(p.b, p.in("a", {6}), {7}); }, "literally 1");
  expect_refused([&](Program& p) { reduce_sum(p.b, x(p), {0, -2}); }, "named twice");
  expect_refused([&](Program& p) { reduce_max(p.b, p.in("a", {0}), 0); }, "has an element");
  expect_refused([&](Program& p) { select(p.b, x(p), x(p), x(p)); }, "condition must be bool");
  expect_refused([&](Program& p) { zeros(p.b, {DType::f32, {-1}, {}}); }, "at least 0");
}

}  // namespace
}  // namespace ops
