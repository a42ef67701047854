// Public reports (docs/cases.md) about graphs of plain ops: each one's kind, shown impossible here.
#include <ctime>

#include "base/text.h"
#include "model/layers.h"
#include "passes/cases_test.h"

namespace cases {
namespace {

// rows [0, u0) of x, then more of `body`.
Graph with_head(const std::string& rows, const std::string& body) {
  return read_with_advice("size N=6\nin %x : f64[N,2]\nin %n : i64[" + rows + "]\nu0..u" +
                          base::format("{}", std::stoi(rows) - 1) + " = sizes(%n)\n" + body);
}

TEST(PublicReports, R2_facts_that_come_after_the_slice) {
  const Graph g = with_head(
      "2",
      "%a : f64[min(u0 + u1, N),2] = slice(%x, dim=0, start=0, stop=u0 + u1)\n"
      "%b0, %b1 : f64[u0,2], f64[u1,2] = split(%a, dim=0, sizes=[u0, u1])\n"
      "%z : f64[u0 + u1,2] = concat(%b0, %b1, dim=0)\n%pad : f64[N - u0 - u1,2] = zeros()\n"
      "%out : f64[N,2] = concat(%z, %pad, dim=0)\nreturn %out");
  EXPECT_EQ(run(g, {numbered({6, 2}), i64({1, 4})})[0].shape(), (host::Shape{6, 2}));
  EXPECT_EQ(run(g, {numbered({9, 2}), i64({9, 0})}, {{"N", 9}})[0].shape(), (host::Shape{9, 2}));
  expect_stopped(g, {numbered({6, 2}), i64({4, 3})},
                 "the sizes add up to the dim: left side 7, right side 6");
}

TEST(PublicReports, R3_two_slices_with_the_same_bounds_have_one_size) {
  for (const int64_t less : {0, 3}) {
    graph::Builder b = continued(
        "size N=6\nin %x : f64[N,2]\nin %y : f64[N,2]\nin %n : i64[2]\nu0, u1 = sizes(%n)");
    const sym::Expr start = data_sizes(b)[0] - less, stop = data_sizes(b)[1] - less;
    const Value p = ops::slice(b, input(b, 0), 0, start, stop);
    const Value q = ops::slice(b, input(b, 1), 0, start, stop);
    EXPECT_EQ(b.type(p), b.type(q)) << less;
    ops::add(b, p, q);
    EXPECT_EQ(count_checks(b.graph()), 0) << less;
  }
}

TEST(PublicReports, R4_slices_of_slices_keep_their_place) {
  graph::Builder b = continued("size N=6\nin %x : f64[N,2]\nin %n : i64[4]\nu0..u3 = sizes(%n)");
  const std::vector<sym::Expr> u = data_sizes(b);
  const Value y = ops::slice(b, input(b, 0), 0, u[0] - 7, u[1] - 7);
  const Value z = ops::slice(b, y, 0, u[2] - 7, u[3] - 7);
  const Graph g = returning(std::move(b), {z});
  const Numbers x = numbers(numbered({6, 2}));
  for (int64_t code = 0; code < 15 * 15 * 15 * 15; code += 11) {
    const int64_t at[] = {code % 15 - 7, code / 15 % 15 - 7, code / 225 % 15 - 7, code / 3375 - 7};
    const auto cut = [](const std::vector<int64_t>& rows, int64_t start, int64_t stop) {
      const int64_t n = static_cast<int64_t>(rows.size());
      const auto clamp = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
      std::vector<int64_t> out;
      for (int64_t i = clamp(start); i < clamp(stop); ++i) {
        out.push_back(rows[static_cast<size_t>(i)]);
      }
      return out;
    };
    Numbers want;
    for (const int64_t row : cut(cut({0, 1, 2, 3, 4, 5}, at[0], at[1]), at[2], at[3])) {
      want.push_back(x[static_cast<size_t>(2 * row)]);
      want.push_back(x[static_cast<size_t>(2 * row + 1)]);
    }
    const Counts n = {at[0] + 7, at[1] + 7, at[2] + 7, at[3] + 7};
    ASSERT_EQ(numbers(run(g, {numbered({6, 2}), i64(n)})[0]), want) << testing::PrintToString(n);
  }
}

TEST(PublicReports, R6_R9_the_backward_needs_no_decision_and_no_other_name) {
  const Graph g = read(
      "size N=5\nin %x : f64[N,3]\nin %w : f64[1,3]\nin %n : i64[1]\nu0 = sizes(%n)\n"
      "check(u0 <= N)\n%a : f64[u0,3] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%v : f64[u0,3] = broadcast(%w)\n%y : f64[u0,3] = mul(%a, %v)\nreturn %y");
  const Differentiated d = differentiate(g);
  for (const int64_t n : {0, 1, 2, 5}) {
    expect_gradients(d, {numbered({5, 3}), numbered({1, 3}), i64({n})});
  }
  const Graph equal = read(
      "size N=5\nin %x : f64[N,3]\nin %n : i64[1]\nu0 = sizes(%n)\ncheck(u0 == N)\n"
      "%o : f64[u0,3] = zeros()\n%y : f64[N,3] = add(%o, %x)\n"
      "%h : f64[u0,3] = slice(%x, dim=0, start=0, stop=u0)\n%s : f64[u0,3] = sin(%h)\n"
      "%z : f64[u0,3] = mul(%y, %s)\nreturn %z");
  expect_gradients(differentiate(equal), {numbered({5, 3}), i64({5})});
  expect_stopped(equal, {numbered({5, 3}), i64({4})}, "left side 4, right side 5");
}

TEST(PublicReports, R7_R8_sizes_of_zero_and_one_are_ordinary) {
  const Graph g = with_head("1",
                            "check(u0 <= 1, msg=\"one row at most\")\n%z : f64[u0,4] = zeros()\n"
                            "%c : f64[fdiv(u0 + 1, 2)] = zeros()\nreturn %z, %c");
  for (const int64_t n : {0, 1}) {
    EXPECT_EQ(run(g, {numbered({6, 2}), i64({n})})[0].shape(), (host::Shape{n, 4}));
  }
  expect_stopped(g, {numbered({6, 2}), i64({2})}, "one row at most");
  const Graph layout =
      with_head("1",
                "check(u0 <= N)\n%a : f64[u0,2] = narrow(%x, dim=0, start=0, length=u0)\n"
                "%v : f64[u0,1,2] = reshape(%a)\n%t : f64[1,u0,2] = permute(%v, order=[1, 0, 2])\n"
                "%y : f64[1,u0,2] = add(%t, %t)\nreturn %y");
  EXPECT_EQ(count_checks(layout), 1);
  for (const int64_t n : {0, 1, 2, 6}) {
    expect_gradients(differentiate(layout), {numbered({6, 2}), i64({n})});
  }
}

TEST(PublicReports, R10_selections_by_one_index_list_have_one_size) {
  const Graph g = read(
      "size N=6\nin %x : f64[N,2]\nin %n : i64[1]\nin %y : f64[N,2]\nin %ids : i64[N]\n"
      "u0 = sizes(%n)\ncheck(u0 <= N)\n"
      "%i : i64[u0] = narrow(%ids, dim=0, start=0, length=u0)\n"
      "%a : f64[u0,2] = gather_rows(%x, %i)\n%b : f64[u0,2] = gather_rows(%y, %i)\n"
      "%c : f64[u0,2] = mul(%a, %b)\n%back : f64[N,2] = scatter_add_rows(%c, %i, rows=N)\n"
      "return %back");
  EXPECT_EQ(count_checks(g), 1);
  const Differentiated d = differentiate(g);
  for (const int64_t n : {0, 1, 6}) {
    expect_gradients(d, {numbered({6, 2}), i64({n}), numbered({6, 2}, 3), i64({5, 5, 0, 1, 5, 2})});
  }
}

double processor_seconds() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

TEST(PublicReports, R11_nested_divisions_stay_small) {
  const double start = processor_seconds();
  graph::Builder b("t", "", ops::table());
  Value y = b.input(graph::InputKind::in, "x", {DType::f64, {b.size("N", 1000)}, {}});
  for (int i = 0; i < 60; ++i) y = ops::slice(b, y, 0, 0, b.dim(y, 0), 2);
  b.return_value(y);
  const Graph g = std::move(b).finish();
  graph::verify(g, ops::table());
  EXPECT_LT(processor_seconds() - start, 5.0);
  EXPECT_LT(graph::print(g).size(), 200'000u);
  for (const int64_t n : {0, 1, 1000}) {
    EXPECT_EQ(run(g, {numbered({n})}, {{"N", n}})[0].dim(0), std::min<int64_t>(n, 1));
  }
}

TEST(PublicReports, R12_a_failing_check_of_256_sizes_is_short) {
  const Graph g = read_with_advice(
      "in %x : f64[4096]\nin %n : i64[256]\nu0..u255 = sizes(%n)\n"
      "%y : f64[sum(u0..u255)] = narrow(%x, dim=0, start=0, length=sum(u0..u255))\n"
      "%z : f64[7,fdiv(sum(u0..u255), 7)] = reshape(%y)\nreturn %z");
  Counts n(256, 0);
  n[3] = 8;
  const std::string message = stopped(g, {numbered({4096}), i64(n)});
  EXPECT_LE(std::ranges::count(message, '\n'), 20);
  EXPECT_LE(message.size(), 1000u);
  for (const char* part : {"left side 8", "right side 7", "element counts differ"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(PublicReports, R17_a_second_run_has_its_own_shapes) {
  const Graph g =
      with_head("1",
                "check(u0 <= N)\n%a : f64[u0,2] = narrow(%x, dim=0, start=0, length=u0)\n"
                "%y : f64[u0] = reduce_sum(%a, dims=[1])\nreturn %y");
  const ops::Program program(g);
  const base::WorkerPool pool(1);
  for (const int64_t n : {3, 5, 0, 6}) {
    Tensors inputs = {numbered({6, 2}), i64({n})};
    EXPECT_EQ(
        program.run(pool, inputs, {}, {.width = base::vector_width(), .account = {}})[0].shape(),
        (host::Shape{n}));
  }
}

TEST(PublicReports, R22_R38_R39_R40_groups_without_rows_and_rows_without_a_group) {
  const Graph g = read(
      "const E=4\nsize R=8\nin %x : f64[R,2]\nparam %w : f64[E,2,3]\nin %off : i64[E + 1]\n"
      "%y : f64[R,3] = grouped_matmul(%x, %w, %off)\nreturn %y");
  const Differentiated d = differentiate(g);
  for (const Counts& off : {Counts{0, 0, 3, 7, 7}, Counts{0, 0, 0, 0, 0}, Counts{0, 8, 8, 8, 8},
                            Counts{0, 0, 0, 0, 8}, Counts{0, 2, 3, 3, 3}}) {
    const Tensors inputs = {numbered({8, 2}), numbered({4, 2, 3}), i64(off)};
    expect_gradients(d, inputs);
    const Numbers y = numbers(run(g, inputs)[0]), dw = numbers(run(d.gradients, inputs)[1]);
    for (size_t i = static_cast<size_t>(3 * off[4]); i < y.size(); ++i) EXPECT_EQ(y[i], 0);
    for (size_t e = 0; e < 4; ++e) {
      for (size_t i = 0; i < 6 && off[e] == off[e + 1]; ++i) {
        EXPECT_TRUE(dw[6 * e + i] == 0 && !std::signbit(dw[6 * e + i])) << "group " << e;
      }
    }
  }
  const Tensors none = {numbered({0, 2}), numbered({4, 2, 3}), i64({0, 0, 0, 0, 0})};
  EXPECT_EQ(run(g, none, {{"R", 0}})[0].shape(), (host::Shape{0, 3}));
  const Tensors dnone = run(d.gradients, none, {{"R", 0}});
  EXPECT_EQ(dnone[0].shape(), (host::Shape{0, 2}));
  EXPECT_EQ(numbers(dnone[1]), Numbers(24, 0));
}

TEST(PublicReports, R37_a_select_keeps_the_other_side_out) {
  const Graph g = read(
      "in %out : f64[2]\nin %w : f64[2]\nin %mask : bool[2]\n%zero : f64[2] = zeros()\n"
      "%safe : f64[2] = select(%mask, %out, %zero)\n%y : f64[2] = mul(%safe, %w)\nreturn %y");
  const Tensor mask = Tensor::make(DType::boolean, {2});
  mask.data<bool>()[0] = true, mask.data<bool>()[1] = false;
  const Tensors inputs = {f64({2}, {2, std::nan("")}), f64({2}, {0.5, 0}), mask};
  EXPECT_EQ(numbers(run(g, inputs)[0]), (Numbers{1, 0}));
  const Tensors gradients = run(differentiate(g).gradients, inputs);  // of y * (y + 1): 2 y + 1
  EXPECT_EQ(numbers(gradients[0]), (Numbers{1.5, 0}));
  EXPECT_EQ(numbers(gradients[1]), (Numbers{6, 0}));
}

TEST(PublicReports, R74_a_weight_used_twice_has_one_gradient) {
  const Graph g = read(
      "const V=5, D=3\nin %ids : i64[4]\nparam %w : f64[V,D]\n"
      "%h : f64[4,D] = gather_rows(%w, %ids)\n%y : f64[4,V] = matmul(%h, %w, transpose_b)\n"
      "return %y");
  const Differentiated d = differentiate(g);
  EXPECT_EQ(d.wrt.size(), 1u);
  expect_gradients(d, {i64({4, 0, 4, 2}), numbered({5, 3}, -0.6)});
}

Graph loss_of(int64_t tokens) {
  graph::Builder b("loss", "", ops::table());
  const graph::Expr T = b.constant("T", tokens), V = b.constant("V", 10);
  const Value logits = b.input(graph::InputKind::in, "logits", {DType::f64, {T, V}, {}});
  const Value labels = b.input(graph::InputKind::in, "labels", {DType::i64, {T}, {}});
  b.return_value(model::cross_entropy_sum(b, logits, labels));
  return std::move(b).finish();
}

TEST(PublicReports, R127_R130_ignored_and_impossible_labels) {
  const Graph g = loss_of(3);
  const Tensor logits = numbered({3, 10});
  const Differentiated d = differentiate(g);
  EXPECT_EQ(numbers(run(g, {logits, i64({-100, -100, -100})})[0]), (Numbers{0}));
  EXPECT_EQ(numbers(run(d.gradients, {logits, i64({-100, -100, -100})})[0]), Numbers(30, 0));
  expect_gradients(d, {logits, i64({3, -100, 9})});
  expect_stopped(g, {logits, i64({3, 10, 0})}, "index 10 at [1, 0] is outside of [0, 10)");
  expect_stopped(g, {logits, i64({3, 2, -1})}, "index -1 at [2, 0] is outside of [0, 10)");
}

// Infinite logits of ignored tokens must not reach the loss: a product with 0 would be NaN.
TEST(PublicReports, R85_the_loss_of_ignored_rows_is_zero_whatever_they_hold) {
  const Graph g = loss_of(2);
  Tensor logits = numbered({2, 10});
  for (int64_t i = 10; i < 20; ++i) logits.data<double>()[i] = i % 2 ? INFINITY : std::nan("");
  const Tensors inputs = {logits, i64({4, -100})};
  EXPECT_TRUE(std::isfinite(numbers(run(g, inputs)[0])[0]));
}

}  // namespace
}  // namespace cases
