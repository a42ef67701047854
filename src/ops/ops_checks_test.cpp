// What the samples of ops cannot say: the order of NaN and infinity, values known by hand, and what
// a run refuses because of its data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "graph/text.h"
#include "ops/core/eval.h"
#include "ops/core/interpret.h"
#include "ops/ops.h"

namespace ops {
namespace {

using Tensors = std::vector<Tensor>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Tensor tensor(DType dtype, host::Shape shape, const std::vector<T>& values) {
  const Tensor x = Tensor::make(dtype, std::move(shape));
  EXPECT_EQ(x.count(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), x.data<T>());
  return x;
}
Tensor i64(const std::vector<int64_t>& values) {
  return tensor<int64_t>(DType::i64, {static_cast<int64_t>(values.size())}, values);
}
Tensor f64(host::Shape shape, const std::vector<double>& values) {
  return tensor<double>(DType::f64, std::move(shape), values);
}
Tensor flag(bool value) { return tensor<bool>(DType::boolean, {}, {value}); }

template <class T>
std::vector<T> values_of(const Tensor& x) {
  const Tensor packed = x.contiguous();
  return {packed.data<T>(), packed.data<T>() + packed.count()};
}

// Runs a graph given by the lines between its braces.
Tensors run_text(const std::string& body, Tensors& inputs) {
  static const base::WorkerPool pool(1);
  const graph::Graph g = graph::parse("graph t \"\" {\n" + body + "\n}\n", "t.graph", table());
  return Program(g).run(pool, inputs, {}, {.width = base::vector_width(), .account = {}});
}
Tensors run_body(const std::string& body, Tensors inputs) { return run_text(body, inputs); }

// The message of the check that stops the run, and its exit code.
std::pair<std::string, base::Exit> stopped(const std::string& body, Tensors inputs) {
  try {
    run_text(body, inputs);
  } catch (const CheckFailure& e) {
    return {e.message(), e.exit()};
  }
  return {"nothing stopped it", base::Exit::success};
}
void expect_stopped(const std::string& body, const Tensors& inputs, const std::string& message) {
  const std::string got = stopped(body, inputs).first;
  EXPECT_EQ(got.substr(0, got.find('\n')), message);
}

TEST(Order, TopkIsTotal) {
  const std::string body =
      "in %x : f64[8]\n%v, %i : f64[6], i64[6] = topk(%x, k=6, dim=0)\nreturn %v, %i";
  const Tensors out = run_body(body, {f64({8}, {1, nan, -infinity, infinity, 1, -nan, -0.0, 0.0})});
  EXPECT_EQ(values_of<int64_t>(out[1]), (std::vector<int64_t>{1, 5, 3, 0, 4, 6}));
  const Tensors ties = run_body(body, {f64({8}, {0, 0, -0.0, 0, -0.0, 0, 0, 0})});
  EXPECT_EQ(values_of<int64_t>(ties[1]), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

// Buffers are sized by this: any bits whatever give k distinct ids.
TEST(Order, TopkIdsAreDistinctForAnyBits) {
  constexpr uint64_t seed = 7;
  std::mt19937_64 random(seed);
  const std::string body =
      "in %x : f32[100,9]\n%v, %i : f32[100,4], i64[100,4] = topk(%x, k=4, dim=1)\nreturn %i";
  const float special[] = {std::nanf("1"), -std::nanf("2"), -INFINITY, INFINITY,
                           0.0f,           -0.0f,           1e-40f};
  for (int round = 0; round < 20; ++round) {
    const Tensor x = Tensor::make(DType::f32, {100, 9});
    for (int64_t i = 0; i < x.count(); ++i) {
      const uint32_t bits = static_cast<uint32_t>(random());
      x.data<float>()[i] = bits % 2 ? special[bits / 2 % 7] : std::bit_cast<float>(bits);
    }
    std::vector<int64_t> ids = values_of<int64_t>(run_body(body, {x})[0]);
    for (int64_t row = 0; row < 100; ++row) {
      const auto begin = ids.begin() + row * 4;
      std::sort(begin, begin + 4);
      ASSERT_EQ(std::adjacent_find(begin, begin + 4), begin + 4)
          << "row " << row << " seed " << seed;
      ASSERT_TRUE(*begin >= 0 && begin[3] < 9);
    }
  }
}

TEST(Order, ArgsortIsStableWithNanLast) {
  const Tensors out = run_body("in %x : f64[7]\n%i : i64[7] = argsort(%x, stable)\nreturn %i",
                               {f64({7}, {nan, 2, -infinity, 0.0, -0.0, infinity, -nan})});
  EXPECT_EQ(values_of<int64_t>(out[0]), (std::vector<int64_t>{2, 3, 4, 1, 5, 0, 6}));
  const std::string whole = "in %x : i64[4]\n%i : i64[4] = argsort(%x, stable)\nreturn %i";
  constexpr int64_t low = INT64_MIN, high = INT64_MAX;
  EXPECT_EQ(values_of<int64_t>(run_body(whole, {i64({high, low, 0, low})})[0]),
            (std::vector<int64_t>{1, 3, 2, 0}));
  EXPECT_EQ(values_of<int64_t>(run_body(whole, {i64({high, high - 1, high, high - 1})})[0]),
            (std::vector<int64_t>{1, 3, 0, 2}));
}

TEST(Order, NanWinsMaximaAndMinima) {
  const Tensors inputs = {f64({4}, {nan, 1, infinity, -infinity}), f64({4}, {1, nan, 1, 1})};
  const std::string body =
      "in %a : f64[4]\nin %b : f64[4]\n%y : f64[4] = max(%a, %b)\n%z : f64[4] = min(%a, %b)\n"
      "%m : f64[] = reduce_max(%a, dim=0)\nreturn %y, %z, %m";
  const Tensors out = run_body(body, inputs);
  const std::vector<double> y = values_of<double>(out[0]), z = values_of<double>(out[1]);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(z[0]) && std::isnan(z[1]));
  EXPECT_TRUE(y[2] == infinity && y[3] == 1 && z[2] == 1 && z[3] == -infinity);
  EXPECT_TRUE(std::isnan(values_of<double>(out[2])[0]));
}

TEST(Checks, IndicesStayInRange) {
  const Tensor x = f64({3, 2}, {0, 1, 2, 3, 4, 5});
  const std::string head = "in %x : f64[3,2]\nin %i : i64[3]\n";
  expect_stopped(head + "%y : f64[3,2] = gather_rows(%x, %i)\nreturn %y", {x, i64({0, 3, 1})},
                 "gather_rows: index 3 at row 1 is outside of [0, 3)");
  expect_stopped(head + "%y : f64[5,2] = scatter_rows(%x, %i, rows=5)\nreturn %y",
                 {x, i64({0, 1, -1})}, "scatter_rows: index -1 at row 2 is outside of [0, 5)");
  expect_stopped(head + "%y : f64[5,2] = scatter_rows(%x, %i, rows=5)\nreturn %y",
                 {x, i64({4, 1, 4})}, "scatter_rows: row 4 is written by 0 and by 2");
  expect_stopped(head + "%y : f64[2,2] = scatter_add_rows(%x, %i, rows=2)\nreturn %y",
                 {x, i64({0, 2, 1})}, "scatter_add_rows: index 2 at row 1 is outside of [0, 2)");
  expect_stopped(head + "%y : i64[2] = histogram(%i, bins=2)\nreturn %y", {x, i64({0, 2, 1})},
                 "histogram: index 2 at row 1 is outside of [0, 2)");
  expect_stopped(head + "%y : f64[3,2] = one_hot(%i)\nreturn %y", {x, i64({0, 2, 1})},
                 "one_hot: index 2 at row 1 is outside of [0, 2)");
  const Tensor index = tensor<int64_t>(DType::i64, {3, 1}, {0, 1, 2});
  const std::string along = "in %x : f64[3,2]\nin %i : i64[3,1]\n";
  expect_stopped(along + "%y : f64[3,1] = gather(%x, %i, dim=1)\nreturn %y", {x, index},
                 "gather: index 2 at [2, 0] is outside of [0, 2)");
  expect_stopped(
      "in %x : f64[3,1]\nin %i : i64[3,1]\n%y : f64[3,2] = scatter_add(%x, %i, dim=1, "
      "size=2)\nreturn %y",
      {f64({3, 1}, {1, 2, 3}), index}, "scatter_add: index 2 at [2, 0] is outside of [0, 2)");
}

TEST(Checks, OffsetsRise) {
  const std::string body =
      "in %x : f64[4,1]\nin %w : f64[2,1,1]\nin %o : i64[3]\n"
      "%y : f64[4,1] = grouped_matmul(%x, %w, %o)\n"
      "%d : f64[2,1,1] = grouped_matmul_weight(%x, %x, %o)\nreturn %y, %d";
  const Tensor x = f64({4, 1}, {1, 2, 3, 4}), w = f64({2, 1, 1}, {10, 100});
  const Tensors out = run_body(body, {x, w, i64({0, 1, 3})});
  EXPECT_EQ(values_of<double>(out[0]), (std::vector<double>{10, 200, 300, 0}));
  EXPECT_EQ(values_of<double>(out[1]), (std::vector<double>{1, 13}));
  expect_stopped(body, {x, w, i64({1, 1, 3})}, "grouped_matmul: the first offset must be 0");
  expect_stopped(body, {x, w, i64({0, 3, 2})},
                 "grouped_matmul: offset 2 is 2, expected a number from 3 to 4 rows");
  expect_stopped(body, {x, w, i64({0, 3, 5})},
                 "grouped_matmul: offset 2 is 5, expected a number from 3 to 4 rows");
}

TEST(Checks, CountsAddUp) {
  const std::string device = "in %n : i64[3]\n%o : i64[4] = device_sizes(%n, total=7)\nreturn %o";
  EXPECT_EQ(values_of<int64_t>(run_body(device, {i64({2, 0, 5})})[0]),
            (std::vector<int64_t>{0, 2, 2, 7}));
  expect_stopped(device, {i64({2, 0, 4})}, "device_sizes: the counts add up to 6, expected 7");
  expect_stopped(device, {i64({9, -2, 0})}, "device_sizes: count 1 is -2");
  expect_stopped(device, {i64({INT64_MAX, 1, 0})},
                 "device_sizes: the counts add up to more than 64 bits hold");
  const std::string host =
      "size N=7\nin %n : i64[3]\nin %x : f64[N]\nu0..u2 = sizes(%n) where sum(u0..u2) == N\n"
      "%a, %b, %c : f64[u0], f64[u1], f64[u2] = split(%x, dim=0, sizes=[u0..u2])\nreturn %c, %b";
  const Tensor x = f64({7}, {0, 1, 2, 3, 4, 5, 6});
  const Tensors out = run_body(host, {i64({2, 0, 5}), x});
  EXPECT_EQ(values_of<double>(out[0]), (std::vector<double>{2, 3, 4, 5, 6}));
  EXPECT_EQ(out[1].shape(), (host::Shape{0}));
  expect_stopped(host, {i64({9, -2, 0}), x}, "size u1 is -2");
  EXPECT_NE(stopped(host, {i64({2, 0, 4}), x}).first.find("is 6, expected"), std::string::npos);
}

// Inputs, then a node with its type; the reader refuses it with these words.
struct Wrong {
  const char *inputs, *node, *words;
};
constexpr Wrong wrong_nodes[] = {
    {"f64[4,2] i64[3]", "f64[5,2] = scatter_rows(%a, %b, rows=5)", "each row of x has one index"},
    {"f64[4,2] i64[4]", "f64[1,2] = scatter_rows(%a, %b, rows=-1)", "rows is at least 0"},
    {"f64[4,2] i64[4,1]", "f64[5,2] = scatter_add_rows(%a, %b, rows=5)", "rows must have 1 dims"},
    {"i64[4,2] i64[4]", "i64[5,2] = scatter_add_rows(%a, %b, rows=5)", "x must be f32 or f64"},
    {"f64[4,2] i32[4]", "f64[4,2] = gather_rows(%a, %b)", "rows must be i64"},
    {"f64[] i64[4]", "f64[4] = gather_rows(%a, %b)", "table must have rows"},
    {"f64[4,2] i64[3,1]", "f64[4,1] = gather(%a, %b, dim=1)", "the other dims are equal"},
    {"f64[4,2] i64[4,1]", "f64[4,1] = gather(%a, %b, dim=2)", "dim 2 is outside"},
    {"f64[4,2] i64[4,1]", "f64[4,9] = scatter_add(%a, %b, dim=1, size=9)", "one index"},
    {"i64[4] i64[1]", "f64[5,3] = one_hot(%a)", "the leading dims are those of the index"},
    {"i64[4] i64[1]", "bool[4,3] = one_hot(%a)", "result must be"},
    {"f64[4,2] i64[1]", "f64[4,3], i64[4,3] = topk(%a, k=3, dim=1)", "k is at most"},
    {"i64[4,2] i64[1]", "i64[4,1], i64[4,1] = topk(%a, k=1, dim=1)", "x must be f32 or f64"},
    {"i64[4,2] i64[1]", "i64[4] = argsort(%a, stable)", "x must have 1 dims"},
    {"i64[4] i64[1]", "i64[4] = argsort(%a)", "stable"},
    {"f64[4] i64[1]", "i64[4] = histogram(%a, bins=4)", "ids must be i64"},
    {"f64[4,2] f64[3,2]", "f64[4,2] = matmul(%a, %b)", "inner sizes are equal"},
    {"f64[2,4,2] f64[3,2,4]", "f64[2,4,4] = matmul(%a, %b)", "batch dims are equal"},
    {"f64[4,2] f64[1,2,2]", "f64[4,2] = matmul(%a, %b)", "operands must both have 2 dims"},
    {"f64[4,2] f32[2,2]", "f64[4,2] = matmul(%a, %b)", "operands must have one dtype"},
    {"f64[4,2] f64[3,2,5] i64[3]", "f64[4,5] = grouped_matmul(%a, %b, %c)", "one offset more"},
    {"f64[4,2] f64[3,3,5] i64[4]", "f64[4,5] = grouped_matmul(%a, %b, %c)", "inner sizes"},
    {"f64[4,2] f64[5,2] i64[4]", "f64[3,2,2] = grouped_matmul_weight(%a, %b, %c)", "same rows"},
    {"f64[1,2,3,4] f64[1,2,3,5]", "f64[1,2,3,4], f64[1,2,3] = attention(%a, %b, %a, scale=1)",
     "q and k are equally wide"},
    {"f64[1,2,3,4] f64[1,2,4,4]", "f64[1,2,3,4], f64[1,2,3] = attention(%a, %a, %b, scale=1)",
     "batch, heads and positions are equal"},
    {"f64[1,2,3,4] i64[2,3]", "f64[1,2,3,4], f64[1,2,3] = attention(%a, %a, %a, %b, scale=1)",
     "documents are given for each batch element"},
    {"i64[3] i64[1]", "f32[4] = philox(%a)", "the key is seed and stream"},
    {"i64[2] i64[1]", "i64[4] = philox(%a)", "result must be f32 or f64"},
    {"i64[2,1] i64[1]", "i64[3] = device_sizes(%a, total=4)", "counts must have 1 dims"},
};

std::string refusal(const std::string& body) {
  try {
    graph::parse("graph t \"\" {\n" + body + "\nreturn %a\n}\n", "t.graph", table());
  } catch (const base::UserError& e) {
    return e.message();
  }
  return "nothing";
}

TEST(Checks, RulesRefuse) {
  for (const Wrong& w : wrong_nodes) {
    std::string body;
    char name = 'a';
    for (const std::string& type : base::split(w.inputs, ' ')) {
      body += base::format("in %{} : {}\n", name++, type);
    }
    const bool two = std::string_view(w.node).find("], ") != std::string_view::npos &&
                     std::string_view(w.node).find("], ") < std::string_view(w.node).find('=');
    body += base::format("{} : {}", two ? "%y, %z" : "%y", w.node);
    EXPECT_NE(refusal(body).find(w.words), std::string::npos) << w.node << ": " << refusal(body);
  }
  const std::string head = "in %a : f64[2]\nin %b : i64[2]\nin %c : f64[3]\nin %d : bool[2]\n";
  EXPECT_NE(refusal(head + "update %a = %b").find("the value must be of the target's type"),
            std::string::npos);
  EXPECT_NE(refusal(head + "update %a = %c").find("the value has the target's dims"),
            std::string::npos);
  EXPECT_NE(refusal(head + "check(%a)").find("operand must be bool"), std::string::npos);
  EXPECT_NE(refusal(head + "check(%d)").find("operand must have 0 dims"), std::string::npos);
  EXPECT_NE(refusal(head + "size N=3\nu0..u2 = sizes(%a) where sum(u0..u2) == N").find("counts"),
            std::string::npos);
}

TEST(Checks, StopTheRunAndLeaveInputsAlone) {
  const std::string body =
      "in %x : f64[2]\nin %ok : bool[]\n%y : f64[2] = neg(%x)\nupdate %x = %y\n"
      "check(%ok, msg=\"the loss is finite\", kind=\"numerics\")\nreturn %y";
  Tensors inputs = {f64({2}, {1, 2}), flag(true)};
  run_text(body, inputs);
  EXPECT_EQ(values_of<double>(inputs[0]), (std::vector<double>{-1, -2}));
  inputs[1] = flag(false);
  try {
    run_text(body, inputs);
    ADD_FAILURE() << "the check held";
  } catch (const CheckFailure& e) {
    EXPECT_EQ(e.exit(), base::Exit::numerics);
    EXPECT_NE(e.message().find("the loss is finite"), std::string::npos);
  }
  EXPECT_EQ(values_of<double>(inputs[0]), (std::vector<double>{-1, -2}));

  const std::string fact =
      "size A=3, B=2\nin %x : f64[A]\ncheck(A <= B, msg=\"it fits\")\nreturn %x";
  const auto [message, exit] = stopped(fact, {f64({3}, {1, 2, 3})});
  EXPECT_EQ(exit, base::Exit::internal);
  EXPECT_EQ(message.substr(0, message.find('\n')), "it fits: left side 3, right side 2");
}

// softmax(scale q k^T) v by its definition.
std::vector<double> attend_slowly(const Tensors& qkv, const Tensor& documents, double scale) {
  const Tensor &q = qkv[0], &k = qkv[1], &v = qkv[2];
  const int64_t S = q.dim(2), K = q.dim(3), V = v.dim(3), heads = q.dim(1);
  std::vector<double> out;
  for (int64_t bh = 0; bh < q.dim(0) * heads; ++bh) {
    for (int64_t i = 0; i < S; ++i) {
      const int64_t* doc = documents.data<int64_t>() + bh / heads * S;
      std::vector<double> p(S), o(V);
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (int64_t c = 0; c < K; ++c) {
          score += q.data<double>()[(bh * S + i) * K + c] * k.data<double>()[(bh * S + j) * K + c];
        }
        p[j] = doc[i] == doc[j] ? std::exp(scale * score) : 0;
        sum += p[j];
      }
      for (int64_t j = 0; j <= i; ++j) {
        for (int64_t c = 0; c < V; ++c) o[c] += p[j] / sum * v.data<double>()[(bh * S + j) * V + c];
      }
      out.insert(out.end(), o.begin(), o.end());
    }
  }
  return out;
}

TEST(Values, AttentionIsItsDefinition) {
  constexpr uint64_t seed = 11;
  std::mt19937_64 random(seed);
  const auto filled = [&](host::Shape shape) {
    const Tensor x = Tensor::make(DType::f64, std::move(shape));
    for (int64_t i = 0; i < x.count(); ++i) {
      x.data<double>()[i] = 0x1p-52 * static_cast<double>(random() >> 11) - 1;
    }
    return x;
  };
  const Tensor documents = Tensor::make(DType::i64, {2, 150});
  for (int64_t i = 0; i < 300; ++i) documents.data<int64_t>()[i] = i % 150 / (i < 150 ? 70 : 9);
  const Tensors qkv = {filled({2, 3, 150, 7}), filled({2, 3, 150, 7}), filled({2, 3, 150, 5})};
  const Tensors out = run_body(
      "in %q : f64[2,3,150,7]\nin %k : f64[2,3,150,7]\nin %v : f64[2,3,150,5]\nin %d : i64[2,150]\n"
      "%o, %l : f64[2,3,150,5], f64[2,3,150] = attention(%q, %k, %v, %d, scale=0.75)\nreturn %o",
      {qkv[0], qkv[1], qkv[2], documents});
  const std::vector<double> got = values_of<double>(out[0]);
  const std::vector<double> want = attend_slowly(qkv, documents, 0.75);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-13) << i;
  documents.data<int64_t>()[8] = -1;
  expect_stopped(
      "in %q : f64[2,3,150,7]\nin %d : i64[2,150]\n"
      "%o, %l : f64[2,3,150,7], f64[2,3,150] = attention(%q, %q, %q, %d, scale=1)\nreturn %o",
      {qkv[0], documents}, "attention: documents must ascend, found -1 after 0 at [0, 8]");
}

// c = a b by its definition, with sums in long double.
std::vector<double> multiply_slowly(const Tensor& a, const Tensor& b) {
  const int64_t M = a.dim(1), K = a.dim(2), N = b.dim(2);
  std::vector<double> out;
  for (int64_t i = 0; i < a.dim(0) * M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      long double sum = 0;
      for (int64_t k = 0; k < K; ++k) {
        sum += static_cast<long double>(a.data<double>()[i * K + k]) *
               b.data<double>()[i / M * K * N + k * N + j];
      }
      out.push_back(static_cast<double>(sum));
    }
  }
  return out;
}

TEST(Values, ProductsAreTheirDefinition) {
  for (const host::Shape& s : {host::Shape{2, 150, 70, 140}, host::Shape{9, 1, 3, 40},
                               host::Shape{9, 2, 40, 3}, host::Shape{9, 3, 1, 7}}) {
    const Tensor a = Tensor::make(DType::f64, {s[0], s[1], s[2]});
    const Tensor b = Tensor::make(DType::f64, {s[0], s[2], s[3]});
    for (int64_t i = 0; i < a.count(); ++i) a.data<double>()[i] = std::sin(0.7 * i);
    for (int64_t i = 0; i < b.count(); ++i) b.data<double>()[i] = std::cos(0.3 * i);
    const std::string dims = base::format("{},{}", s[0], s[1]);
    const Tensors out =
        run_body(base::format("in %a : f64[{0},{1}]\nin %b : f64[{2},{1},{3}]\n"
                              "%t : f64[{2},{3},{1}] = permute(%b, order=[0, 2, 1])\n"
                              "%y : f64[{0},{3}] = matmul(%a, %b)\n"
                              "%z : f64[{0},{3}] = matmul(%a, %t, transpose_b)\nreturn %y, %z",
                              dims, s[2], s[0], s[3]),
                 {a, b});
    const std::vector<double> want = multiply_slowly(a, b);
    for (const Tensor& y : out) {
      const std::vector<double> got = values_of<double>(y);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-13) << dims;
    }
  }
}

TEST(Values, IndicesPickAndAdd) {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor index = tensor<int64_t>(DType::i64, {2, 2}, {2, 0, 1, 1});
  const Tensors out = run_body(
      "in %x : f64[2,3]\nin %i : i64[2,2]\n%g : f64[2,2] = gather(%x, %i, dim=1)\n"
      "%s : f64[2,3] = scatter_add(%g, %i, dim=1, size=3)\n%h : f64[2,2,3] = one_hot(%i)\n"
      "%c : f64[2,3] = cumsum(%x, dim=1)\n%r : f64[2,3] = cumsum(%x, dim=0, reverse)\n"
      "return %g, %s, %h, %c, %r",
      {x, index});
  EXPECT_EQ(values_of<double>(out[0]), (std::vector<double>{3, 1, 5, 5}));
  EXPECT_EQ(values_of<double>(out[1]), (std::vector<double>{1, 0, 3, 0, 10, 0}));
  EXPECT_EQ(values_of<double>(out[2]), (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(values_of<double>(out[3]), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(values_of<double>(out[4]), (std::vector<double>{5, 7, 9, 4, 5, 6}));
}

TEST(Values, PhiloxIsTheKnownStream) {
  // Random123's known answer for key 0 and counter 0.
  const Tensors out = run_body(
      "in %k : i64[2]\n%x : f32[1] = philox(%k)\n%y : f64[1] = philox(%k)\n"
      "return %x, %y",
      {i64({0, 0})});
  EXPECT_EQ(values_of<float>(out[0])[0], static_cast<float>(0x6627e8) * 0x1p-24f);
  EXPECT_EQ(values_of<double>(out[1])[0], static_cast<double>(0x6627e8d5e169c58d >> 11) * 0x1p-53);
}

TEST(Values, RowsComeBack) {
  const Tensor x = f64({4, 1}, {5, 6, 7, 8});
  const std::string body =
      "in %x : f64[4,1]\nin %ids : i64[4]\n%n : i64[3] = histogram(%ids, bins=3)\n"
      "%order : i64[4] = argsort(%ids, stable)\n%rows : f64[4,1] = gather_rows(%x, %order)\n"
      "%back : f64[4,1] = scatter_rows(%rows, %order, rows=4)\n"
      "%sum : f64[3,1] = scatter_add_rows(%x, %ids, rows=3)\nreturn %n, %rows, %back, %sum";
  const Tensors out = run_body(body, {x, i64({2, 0, 2, 0})});
  EXPECT_EQ(values_of<int64_t>(out[0]), (std::vector<int64_t>{2, 0, 2}));
  EXPECT_EQ(values_of<double>(out[1]), (std::vector<double>{6, 8, 5, 7}));
  EXPECT_EQ(values_of<double>(out[2]), (std::vector<double>{5, 6, 7, 8}));
  EXPECT_EQ(values_of<double>(out[3]), (std::vector<double>{14, 0, 12}));
}

}  // namespace
}  // namespace ops
