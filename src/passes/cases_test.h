// What the tests of docs/cases.md share: graphs from text, runs, and gradients against differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "autodiff/gradients.h"
#include "base/error.h"
#include "graph/text.h"
#include "ops/core/eval.h"
#include "ops/core/interpret.h"
#include "ops/ops.h"

namespace cases {

using base::DType;
using graph::Graph;
using graph::Value;
using graph::Values;
using host::Tensor;
using Tensors = std::vector<Tensor>;
using Sizes = std::map<std::string, int64_t>;
using Numbers = std::vector<double>;
using Counts = std::vector<int64_t>;

inline Tensor i64(const Counts& values) {
  const Tensor x = Tensor::make(DType::i64, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, x.data<int64_t>());
  return x;
}
inline Tensor f64(host::Shape shape, const Numbers& values) {
  const Tensor x = Tensor::make(DType::f64, std::move(shape));
  EXPECT_EQ(x.count(), static_cast<int64_t>(values.size()));
  std::ranges::copy(values, x.data<double>());
  return x;
}
// 1.0, 1.1, 1.2, ...: distinct, and none is zero.
inline Tensor numbered(host::Shape shape, double first = 1) {
  const Tensor x = Tensor::make(DType::f64, std::move(shape));
  for (int64_t i = 0; i < x.count(); ++i) x.data<double>()[i] = first + static_cast<double>(i) / 10;
  return x;
}

template <class T>
std::vector<T> values_of(const Tensor& x) {
  const Tensor packed = x.contiguous();
  return {packed.data<T>(), packed.data<T>() + packed.count()};
}
inline Numbers numbers(const Tensor& x) { return values_of<double>(x); }

// The graph of the lines between its braces, verified.
inline Graph read(const std::string& body) {
  Graph g = graph::parse("graph t \"\" {\n" + body + "\n}\n", "t.graph", ops::table());
  graph::verify(g, ops::table());
  return g;
}

// As `read`, with each check that the reader asks for ("t.graph:6:9: ...; write before it:
// check(...)") written before the line it names.
inline Graph read_with_advice(std::string body) {
  const std::string_view advice = "write before it: ";
  while (true) {
    try {
      return read(body);
    } catch (const base::UserError& e) {
      const std::string message = e.message();
      const size_t at = message.find(advice);
      if (at == std::string::npos) throw;
      const std::string check = message.substr(at + advice.size());
      size_t line = 0;
      for (int n = std::stoi(message.substr(message.find(':') + 1)); n > 2; --n) {
        line = body.find('\n', line) + 1;
      }
      body.insert(line, check.substr(0, check.find('\n')) + "\n");
    }
  }
}

// New memory is NaN, so that reading what nobody wrote shows.
inline Tensors run(const Graph& g, Tensors inputs, const Sizes& sizes = {}) {
  static const base::WorkerPool pool(1);
  return ops::Program(g).run(pool, inputs, sizes,
                             {.width = base::vector_width(), .account = {}, .poison = true});
}

// The whole message of the check that stops the run.
inline std::string stopped(const Graph& g, const Tensors& inputs, const Sizes& sizes = {}) {
  try {
    run(g, inputs, sizes);
  } catch (const ops::CheckFailure& e) {
    return e.what();
  }
  return "nothing stopped it";
}
inline void expect_stopped(const Graph& g, const Tensors& inputs, const std::string& part) {
  const std::string message = stopped(g, inputs);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

inline int64_t count_checks(const Graph& g) {
  return std::ranges::count_if(
      g.nodes, [](const graph::Node& n) { return n.op->syntax == graph::Syntax::check; });
}

// What follows `body` is built by code, which infers the types and adds the checks.
inline graph::Builder continued(const std::string& body) {
  const std::string first =
      body.substr(body.find('%'), body.find(' ', body.find('%')) - body.find('%'));
  Graph g = read(body + "\nreturn " + first);
  g.returns.clear();
  return {std::move(g), ops::table()};
}
inline graph::Expr size_named(const graph::Builder& b, std::string_view name) {
  for (uint32_t i = 0; i < b.graph().sizes.size(); ++i) {
    if (b.graph().sizes[i].name == name) return graph::leaf_of(i);
  }
  base::fail_internal("no size {}", name);
}
inline std::vector<graph::Expr> data_sizes(const graph::Builder& b) {
  std::vector<graph::Expr> out;
  for (uint32_t i = 0; i < b.graph().sizes.size(); ++i) {
    if (b.graph().sizes[i].kind == graph::SizeKind::data) out.push_back(graph::leaf_of(i));
  }
  return out;
}
inline Value input(const graph::Builder& b, size_t i) { return b.graph().inputs[i].value; }
inline Graph returning(graph::Builder b, const Values& results) {
  for (const Value v : results) b.return_value(v);
  Graph g = std::move(b).finish();
  graph::verify(g, ops::table());
  return g;
}

struct Differentiated {
  Graph loss, gradients;
  std::vector<size_t> wrt;  // inputs, all the f64 ones
};

// The loss is the sum of y * (y + 1) over the f64 results: no result's gradient is zero by chance.
inline Differentiated differentiate(Graph g) {
  const Values results = std::exchange(g.returns, {});
  graph::Builder b(std::move(g), ops::table());
  Value loss = ops::scalar(b, DType::f64, 0);
  for (const Value y : results) {
    if (b.type(y).dtype != DType::f64) continue;
    std::vector<int64_t> dims(b.rank(y));
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    const Value term = ops::mul(b, y, ops::add(b, y, 1));
    loss = ops::add(b, loss, dims.empty() ? term : ops::reduce_sum(b, term, dims));
  }
  Differentiated out;
  Values wrt;
  for (size_t i = 0; i < b.graph().inputs.size(); ++i) {
    const Value v = b.graph().inputs[i].value;
    if (b.type(v).dtype == DType::f64) out.wrt.push_back(i), wrt.push_back(v);
  }
  graph::Builder forward(b.graph(), ops::table());
  forward.return_value(loss);
  out.loss = std::move(forward).finish();
  for (const Value d : autodiff::gradients(b, loss, wrt)) b.return_value(d);
  out.gradients = graph::without_dead_nodes(std::move(b).finish());
  graph::verify(out.gradients, ops::table());
  return out;
}

// Central differences of every element; the error is about step^2 times the third derivative.
inline void expect_gradients(const Differentiated& d, const Tensors& inputs,
                             const Sizes& sizes = {}) {
  constexpr double step = 1e-5, tolerance = 1e-6;
  const Tensors got = run(d.gradients, inputs, sizes);
  for (size_t k = 0; k < got.size(); ++k) {
    const size_t input = d.wrt[k];
    ASSERT_EQ(got[k].shape(), inputs[input].shape());
    const Numbers gradient = numbers(got[k]);
    for (size_t i = 0; i < gradient.size(); ++i) {
      const auto loss_with = [&](double change) {
        Tensors moved = inputs;
        moved[input] = inputs[input].clone();
        moved[input].data<double>()[i] += change;
        return numbers(run(d.loss, moved, sizes)[0])[0];
      };
      const double difference = (loss_with(step) - loss_with(-step)) / (2 * step);
      ASSERT_NEAR(gradient[i], difference, tolerance * std::max(1.0, std::fabs(difference)))
          << "input " << input << " element " << i;
    }
  }
}

}  // namespace cases
