// Semantic cases and public reports (docs/cases.md) about graphs of plain ops, given as text.
#include "passes/cases_test.h"

#include <ctime>

#include "base/text.h"

namespace cases {
namespace {

// The origin program: a slice to the sum of the counts, typed before anything is known about them,
// then split, one product per part, concat, and zeros for the rows that are left.
const std::string origin =
    "const H=2, E=3\nsize N=6\nin %x : f64[N,H]\nin %count : i64[E]\nparam %w : f64[E,H,H]\n"
    "u0..u2 = sizes(%count)\n"
    "%y : f64[min(sum(u0..u2), N),H] = slice(%x, dim=0, start=0, stop=sum(u0..u2))\n"
    "check(sum(u0..u2) <= N, msg=\"no more than the rows\")\n"
    "%p0..%p2 : f64[u0..u2,H] = split(%y, dim=0, sizes=[u0..u2])\n"
    "%w0..%w2 : f64[H,H] = unbind(%w, dim=0)\n"
    "each e in 0..2 { %z$e : f64[u$e,H] = matmul(%p$e, %w$e) }\n"
    "%cat : f64[sum(u0..u2),H] = concat(%z0..%z2, dim=0)\n"
    "%pad : f64[N - sum(u0..u2),H] = zeros()\n"
    "%out : f64[N,H] = concat(%cat, %pad, dim=0)\nreturn %out, %p0, %p1, %p2";

// Row r of x times the matrix of the expert that r falls to, zeros past the last.
Numbers origin_by_hand(const Numbers& x, const Numbers& w, const Counts& count) {
  Numbers out(x.size());
  size_t row = 0;
  for (size_t e = 0; e < count.size(); ++e) {
    for (int64_t k = 0; k < count[e]; ++k, ++row) {
      for (size_t j = 0; j < 2; ++j) {
        out[2 * row + j] = x[2 * row] * w[4 * e + j] + x[2 * row + 1] * w[4 * e + 2 + j];
      }
    }
  }
  return out;
}

const std::vector<Counts> count_lists = {{2, 0, 1}, {6, 0, 0}, {0, 0, 6}, {0, 6, 0},
                                         {0, 0, 0}, {1, 1, 1}, {1, 2, 3}, {0, 1, 0}};

TEST(SemanticCases, B1_B5_the_origin_program_is_its_reference_for_every_count) {
  const Graph g = read(origin);
  const Differentiated d = differentiate(g);
  const Tensor x = numbered({6, 2}), w = numbered({3, 2, 2}, -0.5);
  for (const Counts& count : count_lists) {
    SCOPED_TRACE(testing::PrintToString(count));
    const Tensors inputs = {x, i64(count), w};
    const Tensors out = run(g, inputs);
    const Numbers want = origin_by_hand(numbers(x), numbers(w), count), got = numbers(out[0]);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-14) << i;
    for (size_t e = 0; e < 3; ++e) EXPECT_EQ(out[e + 1].shape(), (host::Shape{count[e], 2}));
    expect_gradients(d, inputs);
  }
  expect_stopped(g, {x, i64({3, 3, 3}), w}, "no more than the rows: left side 9, right side 6");
  expect_stopped(g, {x, i64({7, 0, 0}), w}, "no more than the rows: left side 7, right side 6");
  expect_stopped(g, {x, i64({3, -1, 1}), w}, "size u1 is -1");
}

// Which facts are known when is no input of a type: the same program, each fact before or after.
TEST(SemanticCases, Z1_H3_types_do_not_depend_on_what_is_known) {
  const std::string facts[] = {"check(sum(u0..u2) <= N)", "check(sum(u0..u2) == N)",
                               "check(u0 <= 4)"};
  std::vector<std::string> types;
  for (unsigned known = 0; known < 8; ++known) {
    std::string before, after;
    for (size_t f = 0; f < 3; ++f) (known >> f & 1 ? before : after) += facts[f] + "\n";
    graph::Builder b = continued(
        "size N=6\nin %x : f64[N,2]\nin %count : i64[3]\nu0..u2 = sizes(%count)\n" + before);
    const graph::Expr N = size_named(b, "N");
    const std::vector<graph::Expr> u = data_sizes(b);
    const Value y = ops::slice(b, input(b, 0), 0, 0, sym::sum(u));
    const Value z = ops::concat(b, ops::split(b, y, 0, u), 0);
    const Value half = ops::slice(b, z, 0, 1, b.dim(z, 0), 2);
    const Value pad = ops::zeros(b, {DType::f64, {N - sym::sum(u), 2}, {}});
    const Value parts[] = {half, pad};
    const Value out = ops::concat(b, parts, 0);
    std::string text;
    for (const Value v : {y, z, half, pad, out}) {
      text += graph::display_type(b.graph(), b.type(v)) + " ";
    }
    types.push_back(text);
    const Graph g = returning(std::move(b), {out});
    EXPECT_EQ(g.sizes.size(), 4u) << "inference made a name";
    // Infers everything again, now with all facts.
    const std::string all = graph::print(g);
    const size_t end = all.rfind("return");
    const Graph again =
        graph::parse(all.substr(0, end) + after + all.substr(end), "again.graph", ops::table());
    graph::verify(again, ops::table());
    EXPECT_EQ(again.sizes.size(), 4u);
  }
  for (const std::string& text : types) EXPECT_EQ(text, types[0]);
}

TEST(SemanticCases, A3_A12_a_check_on_a_size_fails_at_the_check) {
  const Graph g = read(
      "in %x : f64[4]\nin %n : i64[1]\nu0 = sizes(%n)\ncheck(u0 >= 1, msg=\"some rows\")\n"
      "check(u0 <= 4, msg=\"at most four\")\n%z : f64[u0,u0] = zeros()\n"
      "%y : f64[u0] = narrow(%x, dim=0, start=0, length=u0)\nreturn %y, %z");
  EXPECT_EQ(count_checks(g), 2) << "the checks prove what narrow needs";
  EXPECT_EQ(run(g, {numbered({4}), i64({4})})[1].shape(), (host::Shape{4, 4}));
  EXPECT_EQ(run(g, {numbered({4}), i64({1})})[0].shape(), (host::Shape{1}));
  expect_stopped(g, {numbered({4}), i64({0})}, "some rows: left side 0, right side 1");
  expect_stopped(g, {numbered({4}), i64({5})}, "at most four: left side 5, right side 4");
}

TEST(SemanticCases, A4_N2_rows_of_one_read_meet_without_a_check) {
  const Graph g = read(
      "in %x : f64[5,4]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= 5\n"
      "%a : f64[u0,4] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%b : f64[u0,1] = slice(%a, dim=1, start=1, stop=2)\n"
      "%w : f64[u0,4] = broadcast(%b)\n%y : f64[u0,4] = mul(%a, %w)\nreturn %y");
  EXPECT_EQ(count_checks(g), 0);
  const Differentiated d = differentiate(g);
  for (const int64_t n : {0, 1, 2, 5}) expect_gradients(d, {numbered({5, 4}), i64({n})});
}

TEST(SemanticCases, A8_A10_repeats_and_floors_of_sizes) {
  const Graph g = read(
      "in %x : f64[3,2]\nin %n : i64[2]\nu0, u1 = sizes(%n)\n"
      "%x1 : f64[1,3,1,2] = reshape(%x)\n%b : f64[u0,3,2,2] = broadcast(%x1)\n"
      "%r : f64[3*u0,4] = reshape(%b)\n"
      "%r1 : f64[1,3*u0,1,4] = reshape(%r)\n%c : f64[2,3*u0,u1,4] = broadcast(%r1)\n"
      "%y : f64[6*u0,4*u1] = reshape(%c)\n"
      "%o : f64[fdiv(u0, 4),10] = full(value=1)\n%t : f64[10,fdiv(u0, 4)] = permute(%o, order=[1, "
      "0])\n%i : i64[10,fdiv(u0, 4)] = cast(%t)\nreturn %y, %i");
  for (const Counts& n : {Counts{2, 3}, Counts{0, 3}, Counts{7, 0}, Counts{1, 1}, Counts{9, 1}}) {
    const Tensors out = run(g, {numbered({3, 2}), i64(n)});
    EXPECT_EQ(out[0].shape(), (host::Shape{6 * n[0], 4 * n[1]}));
    EXPECT_EQ(out[1].shape(), (host::Shape{10, n[0] / 4}));
    const Numbers y = numbers(out[0]);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t row = i / static_cast<size_t>(4 * n[1]),
                   column = i % static_cast<size_t>(4 * n[1]);
      ASSERT_EQ(y[i], 1 + static_cast<double>(row % 3 * 2 + column % 2) / 10);
    }
  }
}

TEST(SemanticCases, A15_N1_one_graph_serves_every_size) {
  const Graph g = read(
      "size A=2, B=3\nin %x : f64[A,B]\n%f : f64[A,A] = full(value=7)\n"
      "%y : f64[A,B] = matmul(%f, %x)\n%z : f64[A + B,A*B] = zeros()\nreturn %y, %z");
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{2, 3}, {0, 3}, {1, 1}, {5, 0}, {64, 9}}) {
    const Tensors out = run(g, {numbered({a, b})}, {{"A", a}, {"B", b}});
    EXPECT_EQ(out[0].shape(), (host::Shape{a, b}));
    EXPECT_EQ(out[1].shape(), (host::Shape{a + b, a * b}));
  }
}

// Python's rule, written once more: negative counts from the end, then clamped.
Numbers slice_by_hand(int64_t n, int64_t start, int64_t stop, int64_t step) {
  const auto clamped = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  Numbers out;
  for (int64_t i = clamped(start); i < clamped(stop); i += step) {
    out.push_back(static_cast<double>(i));
  }
  return out;
}

// Bounds of any sign, read from data: two sizes less 25.
Graph sliced(int64_t step) {
  graph::Builder b = continued("size N=10\nin %x : f64[N]\nin %n : i64[2]\nu0, u1 = sizes(%n)");
  const Value y =
      ops::slice(b, input(b, 0), 0, size_named(b, "u0") - 25, size_named(b, "u1") - 25, step);
  return returning(std::move(b), {y});
}

Tensor iota(int64_t n) {
  const Tensor x = Tensor::make(DType::f64, {n});
  for (int64_t i = 0; i < n; ++i) x.data<double>()[i] = static_cast<double>(i);
  return x;
}

TEST(SemanticCases, Y1_K2_K3_B7_one_graph_slices_by_any_bounds) {
  const Graph by_step[] = {sliced(1), sliced(2), sliced(3), sliced(4), sliced(5)};
  struct Row {
    int64_t start, stop, step, rows, first;
  };
  // An absent start is 0; an absent stop is the number of rows.
  for (const Row& r : {Row{0, 10, 1, 10, 0},
                       {3, 7, 1, 4, 3},
                       {-3, 10, 1, 3, 7},
                       {0, -3, 1, 7, 0},
                       {7, 3, 1, 0, 0},
                       {12, 20, 1, 0, 0},
                       {-20, 5, 1, 5, 0},
                       {-20, -15, 1, 0, 0},
                       {0, 0, 1, 0, 0},
                       {2, 10, 5, 2, 2},
                       {-1, 10, 5, 1, 9},
                       {0, 9, 4, 3, 0},
                       {10, 10, 1, 0, 0},
                       {0, 20, 3, 4, 0}}) {
    const Numbers got =
        numbers(run(by_step[r.step - 1], {iota(10), i64({r.start + 25, r.stop + 25})})[0]);
    ASSERT_EQ(static_cast<int64_t>(got.size()), r.rows)
        << r.start << ":" << r.stop << ":" << r.step;
    if (r.rows > 0) {
      EXPECT_EQ(got[0], static_cast<double>(r.first));
    }
  }
  for (const int64_t n : {0, 1, 10}) {
    for (int64_t start = -12; start <= 12; ++start) {
      for (int64_t stop = -12; stop <= 12; ++stop) {
        for (const int64_t step : {1, 5}) {
          const Tensors out =
              run(by_step[step - 1], {iota(n), i64({start + 25, stop + 25})}, {{"N", n}});
          ASSERT_EQ(numbers(out[0]), slice_by_hand(n, start, stop, step))
              << n << " rows " << start << ":" << stop << ":" << step;
        }
      }
    }
  }
}

TEST(SemanticCases, K1_K4_known_bounds_need_no_clamp) {
  graph::Builder b = continued(
      "size N=9\nin %x : f64[N]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= N\n"
      "check(u0 >= 1)");
  const graph::Expr N = size_named(b, "N"), u = size_named(b, "u0");
  const Value tail = ops::slice(b, input(b, 0), 0, u, N),
              head = ops::slice(b, input(b, 0), 0, 0, u);
  const Value last = ops::slice(b, input(b, 0), 0, 0 - u, N);
  EXPECT_TRUE(b.facts().prove_equal(b.dim(tail, 0), N - u));
  EXPECT_TRUE(b.facts().prove_equal(b.dim(head, 0), u));
  EXPECT_TRUE(b.facts().prove_equal(b.dim(last, 0), u));
  const Value all = ops::slice(b, head, 0, 0, N);
  EXPECT_TRUE(b.facts().prove_equal(b.dim(all, 0), u));
  const Graph g = returning(std::move(b), {tail, head, last, all});
  for (const int64_t n : {1, 4, 9}) {
    const Tensors out = run(g, {iota(9), i64({n})});
    EXPECT_EQ(out[0].dim(0), 9 - n);
    EXPECT_EQ(out[1].dim(0), n);
    EXPECT_EQ(numbers(out[2]), slice_by_hand(9, -n, 9, 1));
    EXPECT_EQ(numbers(out[3]), numbers(out[1]));
  }
}

TEST(SemanticCases, K5_K6_K10_several_dims_at_once_and_exact_pieces) {
  const Graph g = read(
      "size N=6\nin %x : f64[N,N]\nin %n : i64[3]\nu0..u2 = sizes(%n)\n"
      "check(u0 + u1 <= N, msg=\"rows\")\ncheck(u0 + u2 <= N, msg=\"columns\")\n"
      "%a : f64[u1,N] = narrow(%x, dim=0, start=u0, length=u1)\n"
      "%b : f64[u1,u2] = narrow(%a, dim=1, start=u0, length=u2)\n"
      "%c, %d : f64[u0,N], f64[N - u0,N] = split(%x, dim=0, sizes=[u0, N - u0])\n"
      "return %b, %c, %d");
  const Differentiated d = differentiate(g);
  for (const Counts& n : {Counts{1, 3, 4}, Counts{6, 0, 0}, Counts{0, 6, 1}}) {
    const Tensors inputs = {numbered({6, 6}), i64(n)};
    EXPECT_EQ(run(g, inputs)[0].shape(), (host::Shape{n[1], n[2]}));
    expect_gradients(d, inputs);
  }
  expect_stopped(g, {numbered({6, 6}), i64({5, 2, 1})}, "rows: left side 7, right side 6");
  expect_stopped(g, {numbered({6, 6}), i64({5, 1, 2})}, "columns: left side 7, right side 6");
}

TEST(SemanticCases, K8_K9_padding_from_data_and_no_negative_rows) {
  const Graph g = read(
      "in %x : f64[3]\nin %n : i64[2]\nu0, u1 = sizes(%n)\n"
      "%p : f64[u0 + u1 + 3] = pad(%x, dim=0, before=u0, after=u1)\n"
      "%h : f64[u0] = narrow(%p, dim=0, start=0, length=u0)\nreturn %p, %h");
  EXPECT_EQ(numbers(run(g, {numbered({3}), i64({2, 1})})[0]), (Numbers{0, 0, 1, 1.1, 1.2, 0}));
  EXPECT_EQ(run(g, {numbered({3}), i64({0, 0})})[1].dim(0), 0);
  graph::Builder b = continued(
      "in %x : f64[8]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= 8\n"
      "%a : f64[u0] = narrow(%x, dim=0, start=0, length=u0)");
  const Value y = ops::slice(b, b.graph().nodes.back().out[0], 0, 0, -1);
  const Graph all_but_one = returning(std::move(b), {y});
  for (const int64_t n : {0, 1, 8}) {
    EXPECT_EQ(run(all_but_one, {iota(8), i64({n})})[0].dim(0), std::max<int64_t>(n - 1, 0));
  }
}

TEST(SemanticCases, C3_C5_C6_O3_O8_indices_and_sums_of_data_length) {
  const Graph g = read(
      "in %x : f64[9]\nin %n : i64[1]\nu0 = sizes(%n)\ncheck(u0 <= 9)\n"
      "%s : f64[u0] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%o : i64[u0] = argsort(%s, stable)\n%back : i64[u0] = argsort(%o, stable)\n"
      "%sorted : f64[u0] = gather_rows(%s, %o)\n%again : f64[u0] = gather_rows(%sorted, %back)\n"
      "%ones : i64[u0] = full(value=1)\n%picked : f64[u0] = gather_rows(%x, %ones)\n"
      "%row : f64[1,u0] = reshape(%s)\n%dot : f64[1,1] = matmul(%row, %row, transpose_b)\n"
      "%sum : f64[] = reduce_sum(%s, dims=[0])\nreturn %again, %picked, %dot, %sum, %s");
  const Differentiated d = differentiate(g);
  const Tensor x = f64({9}, {5, -1, 4, 4, 8, 0, 2, 9, -3});
  for (const int64_t n : {0, 1, 2, 9}) {
    const Tensors out = run(g, {x, i64({n})});
    EXPECT_EQ(numbers(out[0]), numbers(out[4]));
    EXPECT_EQ(numbers(out[1]), Numbers(static_cast<size_t>(n), -1));
    double square = 0, sum = 0;
    for (const double v : numbers(out[4])) square += v * v, sum += v;
    EXPECT_EQ(numbers(out[2])[0], square);
    EXPECT_EQ(numbers(out[3])[0], sum);
    expect_gradients(d, {x, i64({n})});
  }
  const Graph index =
      read_with_advice("in %n : i64[1]\nu0 = sizes(%n)\n%i : i64[1,u0 - 5] = zeros()\nreturn %i");
  EXPECT_EQ(run(index, {i64({5})})[0].shape(), (host::Shape{1, 0}));
  expect_stopped(index, {i64({4})}, "left side -1, right side 0");
}

TEST(SemanticCases, D3_softmax_over_rows_and_along_them) {
  graph::Builder b = continued(
      "in %x : f64[5,3]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= 5\n"
      "%a : f64[u0,3] = narrow(%x, dim=0, start=0, length=u0)");
  const Value a = b.graph().nodes.back().out[0];
  const auto softmax = [&](int64_t dim) {
    const Value e = ops::exp(b, a);
    return ops::div(b, e, ops::reduce_sum(b, e, {dim}, ops::Keep::yes));
  };
  const Graph g = returning(std::move(b), {softmax(0), softmax(1)});
  const Differentiated d = differentiate(g);
  for (const int64_t n : {0, 1, 2, 5}) {
    expect_gradients(d, {numbered({5, 3}), i64({n})});
    const Tensors out = run(g, {numbered({5, 3}), i64({n})});
    for (const Tensor& y : out) EXPECT_EQ(y.shape(), (host::Shape{n, 3}));
  }
}

TEST(SemanticCases, E1_E2_G9_an_asserted_equality_serves_both_sizes) {
  const Graph g = read_with_advice(
      "size S=3\nin %x : f64[S,2,4]\nin %p : f64[8,4,2]\nin %n : i64[2]\nu0, u1 = sizes(%n)\n"
      "check(u0 == S, msg=\"as many as the batch\")\n"
      "%y : f64[u0,4,2] = narrow(%p, dim=0, start=0, length=u0)\n"
      "%z : f64[S,2,2] = matmul(%x, %y)\n"
      "%l : f64[u1,4,2] = narrow(%p, dim=0, start=0, length=u1)\n"
      "%s : f64[u0,4,2] = add(%y, %l)\nreturn %z, %s");
  const Tensors inputs = {numbered({3, 2, 4}), numbered({8, 4, 2}), i64({3, 3})};
  EXPECT_EQ(run(g, inputs)[0].shape(), (host::Shape{3, 2, 2}));
  expect_gradients(differentiate(g), inputs);
  expect_stopped(g, {inputs[0], inputs[1], i64({4, 4})},
                 "as many as the batch: left side 4, right side 3");
  expect_stopped(g, {inputs[0], inputs[1], i64({3, 2})}, "left side 3, right side 2");
}

TEST(SemanticCases, G1_G2_G3_G7_G8_checks_run_and_are_never_dropped) {
  const std::string body =
      "size S=30, R=60\nin %ok : bool[]\nin %n : i64[2]\nin %x : f64[2]\nu0, u1 = sizes(%n)\n"
      "check(S + R + u0 == 102, msg=\"one hundred and two\")\ncheck(u1 >= 1)\n"
      "check(%ok, msg=\"data is fine\")\n%unused : f64[u1] = zeros()\nreturn %x";
  const Graph g = graph::without_dead_nodes(read(body));
  EXPECT_EQ(count_checks(g), 3);
  const auto inputs = [](bool ok, Counts n) {
    const Tensor flag = Tensor::make(DType::boolean, {});
    *flag.data<bool>() = ok;
    return Tensors{flag, i64(n), numbered({2})};
  };
  EXPECT_EQ(run(g, inputs(true, {12, 1})).size(), 1u);
  EXPECT_EQ(run(g, inputs(true, {11, 1}), {{"R", 61}}).size(), 1u);
  expect_stopped(g, inputs(true, {13, 1}), "one hundred and two: left side 103, right side 102");
  expect_stopped(g, inputs(true, {12, 0}), "left side 0, right side 1");
  expect_stopped(g, inputs(false, {12, 1}), "data is fine");
  EXPECT_EQ(graph::print(g).find("unused"), std::string::npos);
}

TEST(SemanticCases, G4_G11_H2_sizes_go_by_birth_not_by_text) {
  const Graph g = read(
      "in %n : i64[11]\nu0..u10 = sizes(%n)\n"
      "check(u10 + u9 + u8 + u7 + u6 + u5 + u4 + u3 + u2 + u1 + u0 <= 100)\n"
      "%y : f64[u10 + u9 + u2] = zeros()\nreturn %y");
  const std::string text = graph::print(g);
  EXPECT_NE(text.find("check(sum(u0..u10) <= 100)"), std::string::npos) << text;
  EXPECT_NE(text.find("f64[u2 + u9 + u10]"), std::string::npos) << text;
  for (const char* early : {"in %n : i64[2]\ncheck(u1 <= 3)\nu0, u1 = sizes(%n)\nreturn %n",
                            "in %n : i64[2]\nu0..u2 = sizes(%n)\nreturn %n"}) {
    EXPECT_THROW(run(read(early), {i64({1, 1})}), base::Error) << early;
  }
}

TEST(SemanticCases, H1_H5_A11_sizes_nobody_uses_and_sizes_that_inputs_share) {
  const Graph g = read(
      "size S=4\nin %a : f64[S,2]\nin %b : f64[2,S]\nin %n : i64[2]\nu0, u1 = sizes(%n)\n"
      "%e : f64[u1,7] = zeros()\n%y : f64[S,S] = matmul(%a, %b)\nreturn %y");
  EXPECT_EQ(graph::without_dead_nodes(g).nodes.size(), g.nodes.size() - 1);
  EXPECT_EQ(run(g, {numbered({4, 2}), numbered({2, 4}), i64({0, 5})})[0].dim(1), 4);
  EXPECT_THROW(run(g, {numbered({4, 2}), numbered({2, 5}), i64({0, 5})}), base::Error);
}

TEST(SemanticCases, J4_J5_J6_reshape_asks_for_what_it_needs) {
  const Graph g = read_with_advice(
      "in %x : f64[12]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= 12\n"
      "%a : f64[u0] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%y : f64[2,fdiv(u0, 6),3] = reshape(%a)\nreturn %y");
  for (const int64_t n : {0, 6, 12}) {
    EXPECT_EQ(run(g, {numbered({12}), i64({n})})[0].shape(), (host::Shape{2, n / 6, 3}));
  }
  expect_stopped(g, {numbered({12}), i64({8})}, "element counts differ: left side 8, right side 6");
  const Graph square = read_with_advice(
      "in %x : f64[12]\nin %n : i64[4]\nu0..u3 = sizes(%n)\n"
      "%a : f64[u1] = narrow(%x, dim=0, start=0, length=u1)\n%b : f64[u0,u0] = reshape(%a)\n"
      "%t : f64[u0,u0] = permute(%b, order=[1, 0])\n%c : f64[u2,u3] = reshape(%t)\nreturn %c");
  EXPECT_EQ(numbers(run(square, {iota(12), i64({2, 4, 1, 4})})[0]), (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(run(square, {iota(12), i64({0, 0, 0, 5})})[0].shape(), (host::Shape{0, 5}));
  expect_stopped(square, {iota(12), i64({2, 5, 1, 4})}, "left side 5, right side 4");
  expect_stopped(square, {iota(12), i64({3, 9, 2, 4})}, "left side 9, right side 8");
  const Graph padded = read(
      "in %x : f64[12]\nin %n : i64[1]\nu0 = sizes(%n) where u0 <= 12\n"
      "%a : f64[u0] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%y : f64[8*fdiv(u0 + 7, 8)] = pad(%a, dim=0, before=0, after=8*fdiv(u0 + 7, 8) - u0)\n"
      "return %y");
  EXPECT_EQ(count_checks(padded), 0) << "the padding is never negative, and that is provable";
  for (const auto& [n, rows] : {std::pair{0, 0}, {1, 8}, {7, 8}, {8, 8}, {9, 16}, {12, 16}}) {
    EXPECT_EQ(run(padded, {numbered({12}), i64({n})})[0].dim(0), rows);
  }
}

TEST(SemanticCases, I5_J7_layouts_and_choices_of_sizes_need_no_decision) {
  const Graph g = read(
      "in %x : f64[6]\nin %n : i64[2]\nu0, u1 = sizes(%n) where u0 <= 6, u0 <= u1\n"
      "%a : f64[u0] = narrow(%x, dim=0, start=0, length=u0)\n%c : f64[u0,1] = reshape(%a)\n"
      "%r : f64[1,u0] = permute(%c, order=[1, 0])\n%b : f64[u0] = reshape(%r)\n"
      "%m : f64[max(u0, 1)] = zeros()\n%s : f64[sel(u0 <= 3, u0, u1)] = zeros()\n"
      "%y : f64[u0] = add(%a, %b)\nreturn %y, %m, %s");
  EXPECT_EQ(count_checks(g), 0);
  const Differentiated d = differentiate(g);
  for (const auto& [u0, m, s] : {std::tuple{0, 1, 0}, {1, 1, 1}, {3, 3, 3}, {4, 4, 9}, {6, 6, 9}}) {
    const Tensors inputs = {numbered({6}), i64({u0, 9})}, out = run(g, inputs);
    EXPECT_EQ(out[1].dim(0), m);
    EXPECT_EQ(out[2].dim(0), s);
    expect_gradients(d, inputs);
  }
}

TEST(SemanticCases, L1_L2_groups_written_back_in_turn) {
  const Graph g = read(
      "const N=10\nin %x : f64[N,2]\nin %n : i64[3]\nparam %w : f64[3,2,2]\n"
      "u0..u2 = sizes(%n) where sum(u0..u2) == N\n%w0..%w2 : f64[2,2] = unbind(%w, dim=0)\n"
      "%x0 : f64[u0,2] = slice(%x, dim=0, start=0, stop=u0)\n"
      "%x1 : f64[u1,2] = slice(%x, dim=0, start=u0, stop=u0 + u1)\n"
      "%x2 : f64[u2,2] = slice(%x, dim=0, start=u0 + u1, stop=N)\n"
      "each e in 0..2 { %y$e : f64[u$e,2] = matmul(%x$e, %w$e) }\n"
      "%p0 : f64[N,2] = pad(%y0, dim=0, before=0, after=N - u0)\n"
      "%p1 : f64[N,2] = pad(%y1, dim=0, before=u0, after=N - u0 - u1)\n"
      "%p2 : f64[N,2] = pad(%y2, dim=0, before=u0 + u1, after=0)\n"
      "%q : f64[N,2] = add(%p0, %p1)\n%out : f64[N,2] = add(%q, %p2)\nreturn %out");
  EXPECT_EQ(count_checks(g), 0) << "source and destination of a write have one size";
  const Differentiated d = differentiate(g);
  const Tensor x = numbered({10, 2}), w = numbered({3, 2, 2}, -0.5);
  for (const Counts& n : {Counts{3, 2, 5}, Counts{3, 0, 7}, Counts{0, 0, 10}, Counts{10, 0, 0}}) {
    const Numbers want = origin_by_hand(numbers(x), numbers(w), n);
    const Numbers got = numbers(run(g, {x, i64(n), w})[0]);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-14) << i;
    expect_gradients(d, {x, i64(n), w});
  }
}

TEST(SemanticCases, O1_O2_O4_O5_gradients_through_repeats_and_unused_parts) {
  const Graph g = read(
      "in %x : f64[6,2]\nin %n : i64[2]\nu0, u1 = sizes(%n) where u0 + u1 <= 6\n"
      "%a : f64[u0,2] = narrow(%x, dim=0, start=0, length=u0)\n"
      "%b : f64[u1,2] = narrow(%x, dim=0, start=u0, length=u1)\n"
      "%c : f64[2*u0 + u1,2] = concat(%a, %a, %b, dim=0)\n"
      "%p, %q, %r : f64[u0,2], f64[u0,2], f64[u1,2] = split(%c, dim=0, sizes=[u0, u0, u1])\n"
      "%s : f64[2] = reduce_sum(%q, dims=[0])\nreturn %c, %s");
  const Differentiated d = differentiate(g);
  for (const Counts& n : {Counts{2, 3}, Counts{0, 6}, Counts{6, 0}, Counts{0, 0}, Counts{1, 1}}) {
    expect_gradients(d, {numbered({6, 2}), i64(n)});
  }
}

// Sizes from a sum that the graph computed: one read at the end of the arithmetic.
TEST(SemanticCases, A14_O7_sizes_of_summed_counts) {
  const Graph g = read(
      "in %n : i64[3,2]\n%t : i64[2] = reduce_sum(%n, dims=[0])\nu0, u1 = sizes(%t)\n"
      "%y : f64[u0,u1] = zeros()\nreturn %y");
  const Tensor n = i64({1, 2, 3, 4, 0, 1}).view({3, 2}, {2, 1}, 0);
  EXPECT_EQ(run(g, {n})[0].shape(), (host::Shape{4, 7}));
}

double processor_seconds() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

// The budget is the seconds of the report's right answer with room for sanitizers.
TEST(SemanticCases, O6_hundreds_of_sizes_build_fast_and_run) {
  for (const int64_t count : {320, 512}) {
    const double start = processor_seconds();
    const std::string last = base::format("{}", count - 1);
    graph::Builder b = continued("size N=2000\nin %x : f64[N,2]\nin %n : i64[" +
                                 base::format("{}", count) + "]\nu0..u" + last + " = sizes(%n)");
    const std::vector<graph::Expr> u = data_sizes(b);
    const graph::Expr total = sym::sum(u), N = size_named(b, "N");
    const Value live = ops::slice(b, input(b, 0), 0, 0, total);
    const Value cat = ops::concat(b, ops::split(b, live, 0, u), 0);
    const Value pad = ops::zeros(b, {DType::f64, {N - total, 2}, {}});
    const Value parts[] = {cat, pad};
    const Value out = ops::concat(b, parts, 0);
    const Value blocks = ops::reshape(b, live, {sym::fdiv(total, 8), 16});
    const Value few = ops::narrow(b, blocks, 0, 0, sym::fdiv(total, 8));
    const Differentiated d = differentiate(returning(std::move(b), {out, few}));
    EXPECT_EQ(graph::print(d.gradients),
              graph::print(graph::parse(graph::print(d.gradients), "g", ops::table())));
    EXPECT_LT(processor_seconds() - start, 5.0) << count << " sizes";
    Counts n(static_cast<size_t>(count));
    int64_t sum = 0;
    for (size_t i = 0; i < n.size(); ++i) sum += n[i] = static_cast<int64_t>(i * i % 7);
    n[1] += (8 - sum % 8) % 8;
    sum += (8 - sum % 8) % 8;
    const Tensor x = numbered({2000, 2});
    const Numbers from = numbers(x), dx = numbers(run(d.gradients, {x, i64(n)})[0]);
    for (int64_t i = 0; i < 4000; ++i) {
      const double v = from[static_cast<size_t>(i)];
      ASSERT_NEAR(dx[static_cast<size_t>(i)], i < 2 * sum ? 4 * v + 2 : 0, 1e-9) << i;
    }
  }
}

TEST(SemanticCases, P2_a_length_that_is_never_negative_needs_no_check) {
  const Graph g = read("size S=4\ncheck(S >= 3)\n%y : f64[S*S - 3*S] = zeros()\nreturn %y");
  EXPECT_EQ(count_checks(g), 1);
  for (const int64_t s : {3, 4, 50}) {
    EXPECT_EQ(run(g, {}, {{"S", s}})[0].dim(0), s * s - 3 * s);
  }
}

TEST(SemanticCases, Y4_routing_by_hand) {
  const Graph g = read(
      "const T=4, E=4, K=2\nin %score : f64[T,E]\n"
      "%v, %ids : f64[T,K], i64[T,K] = topk(%score, k=K, dim=1)\n"
      "%flat : i64[T*K] = reshape(%ids)\n%count : i64[E] = histogram(%flat, bins=E)\n"
      "%off : i64[E + 1] = device_sizes(%count, total=T*K)\n"
      "%order : i64[T*K] = argsort(%flat, stable)\n%token : i64[T*K] = floordiv(%order, by=K)\n"
      "return %ids, %count, %off, %order, %token");
  const Tensors out = run(g, {f64({4, 4}, {0.9, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,  //
                                           0.2, 0.8, 0.8, 0.1, 0.1, 0.2, 0.3, 0.4})});
  EXPECT_EQ(values_of<int64_t>(out[0]), (Counts{0, 2, 0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(values_of<int64_t>(out[1]), (Counts{2, 2, 3, 1}));
  EXPECT_EQ(values_of<int64_t>(out[2]), (Counts{0, 2, 4, 7, 8}));
  EXPECT_EQ(values_of<int64_t>(out[3]), (Counts{0, 2, 3, 4, 1, 5, 7, 6}));
  EXPECT_EQ(values_of<int64_t>(out[4]), (Counts{0, 1, 1, 2, 0, 2, 3, 3}));
}

TEST(SemanticCases, Y2_Y3_division_and_alignment_of_sizes) {
  struct Row {
    int64_t x, d, floor, mod, ceil;
  };
  for (const Row& r : {Row{7, 4, 1, 3, 2},
                       {-7, 4, -2, 1, -1},
                       {7, -4, -2, -1, -1},
                       {-7, -4, 1, -3, 2},
                       {0, 4, 0, 0, 0},
                       {8, 4, 2, 0, 2},
                       {1, 4, 0, 1, 1},
                       {-1, 4, -1, 3, 0}}) {
    EXPECT_EQ(sym::fdiv(r.x, r.d).constant(), r.floor) << r.x << " by " << r.d;
    EXPECT_EQ(sym::mod(r.x, r.d).constant(), r.mod) << r.x << " by " << r.d;
    EXPECT_EQ((sym::Expr(0) - sym::fdiv(-r.x, r.d)).constant(), r.ceil) << r.x << " by " << r.d;
  }
  struct Case {
    Counts counts;
    int64_t align, zeros_stay, zeros_grow;
  };
  for (const Case& c : {Case{{0, 7, 8, 0}, 8, 16, 32},
                        {{1, 1, 1, 1, 1, 1, 1, 1}, 16, 128, 128},
                        {{10, 8, 12, 9, 11, 7, 10, 13}, 16, 128, 128},
                        {{64, 0, 0, 0}, 16, 64, 112},
                        {{0, 0, 0, 0}, 8, 0, 32}}) {
    sym::Expr stay, grow;
    for (uint32_t e = 0; e < c.counts.size(); ++e) {
      stay = stay + sym::align(sym::Leaf{e}, c.align);
      grow = grow + sym::align(sym::max(sym::Leaf{e}, 1), c.align);
    }
    const auto count = [&](sym::Leaf leaf) { return c.counts[leaf.id]; };
    EXPECT_EQ(sym::evaluate(stay, count), c.zeros_stay);
    EXPECT_EQ(sym::evaluate(grow, count), c.zeros_grow);
  }
}

}  // namespace
}  // namespace cases
