// The one harness of all ops: runs every sample of every op in the table (core/sample.h).
//
// An op's own test is `./dev test OpTest.*/NAME`. What no sample can say (orders of NaN, what a run
// refuses) stands in ops_checks_test.cpp.
#include "ops/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "autodiff/gradients.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/text.h"
#include "ops/core/eval.h"
#include "ops/core/interpret.h"
#include "ops/core/sample.h"

namespace ops {
namespace {

using base::VectorWidth;
using graph::Graph;
using graph::NodeId;
using graph::OpDef;
using graph::Sample;
using graph::Syntax;
using host::Shape;
using Tensors = std::vector<Tensor>;
using Sizes = std::vector<int64_t>;  // of u0, u1, ...

constexpr uint64_t seed = 20240613;

const base::WorkerPool& pool(int threads) {
  static const base::WorkerPool one(1), two(2);
  return threads == 1 ? one : two;
}

// Every sample is run with each of these, when it has data sizes.
const std::vector<Sizes> size_values = {{0, 0, 0, 0}, {1, 1, 1, 1}, {3, 3, 3, 3},
                                        {5, 0, 2, 1}, {0, 4, 1, 3}, {19, 2, 1, 1}};

std::string text_of(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < sizes.size(); ++i) parts.push_back(base::format("u{}={}", i, sizes[i]));
  return base::join(parts, " ");
}

bool has_sizes(const Sample& sample) { return sample.problem.find("u0") != std::string_view::npos; }

std::string print_name(const testing::TestParamInfo<const OpDef*>& info) {
  return std::string(info.param->name);
}

class OpTest : public testing::TestWithParam<const OpDef*> {
 protected:
  void TearDown() override {
    if (!HasFailure()) return;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::printf("repeat: ./dev test '%s'\n", test.name());
  }

  // Calls body(sample, problem) for each sample that is not for the bench.
  void for_each_sample(const std::function<void(const Sample&, const SampleProblem&)>& body) {
    for (const Sample& sample : op().samples) {
      if (sample.bench) continue;
      SCOPED_TRACE(base::format("sample \"{}\", seed {}", sample.problem, seed));
      try {
        body(sample, read_sample(op(), sample));
      } catch (const base::Error& e) {
        ADD_FAILURE() << e.what();
      }
    }
  }
  const OpDef& op() const { return *GetParam(); }
};

Tensors fill_inputs(const SampleProblem& p, const Sizes& sizes) {
  Tensors out;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    out.push_back(fill_input(p.inputs[i], sizes, seed + i));
  }
  return out;
}

// How the operands reach the node: as the graph's inputs, or in memory that the node may reuse.
enum class Operands : uint8_t { borrowed, owned };

Graph build(const OpDef& op, const SampleProblem& p, Operands operands) {
  Builder b = start_graph(p, table());
  Values in = add_inputs(b, p);
  for (Value& v : in) {
    const DType dtype = b.type(v).dtype;
    const bool negates = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i64;
    if (operands == Operands::owned && negates) v = neg(b, neg(b, v));
  }
  const NodeId node = add_sample_node(b, op, p, in);
  for (const Value v : Values(b.graph().node(node).out)) b.return_value(v);
  return std::move(b).finish();
}

// The node's results; of `update` what the target holds afterwards.
Tensors run(const Graph& g, Tensors inputs, const Sizes& sizes, int threads, VectorWidth width) {
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < sizes.size(); ++i) named[base::format("u{}", i)] = sizes[i];
  const RunOptions options{.width = width, .account = {}, .poison = true};
  Tensors out = Program(g).run(pool(threads), inputs, named, options);
  const bool updates = !g.nodes.empty() && g.nodes.back().op->syntax == Syntax::update;
  if (updates) out.push_back(inputs[0]);
  return out;
}

double number_at(const Tensor& x, int64_t i) {
  return x.dtype() == DType::f32 ? x.data<float>()[i] : x.data<double>()[i];
}

double greatest(const Tensor& x) {
  double top = 0;
  for (int64_t i = 0; i < x.count(); ++i) top = std::fmax(top, std::fabs(number_at(x, i)));
  return top;
}

// `want` is f64 where `got` is f32. Errors are relative to the greatest operand or result: the sums
// inside cannot be much larger.
void expect_near(const Tensor& got_view, const Tensor& want_view, double scale, double tolerance) {
  const Tensor got = got_view.contiguous(), want = want_view.contiguous();
  ASSERT_EQ(got.shape(), want.shape());
  if (want.dtype() != DType::f64 || got.dtype() != DType::f32) {
    EXPECT_TRUE(host::same_bits(got, want)) << "other bits in a result that is not f32";
    return;
  }
  const double bound = tolerance * std::max(scale, greatest(want));
  for (int64_t i = 0; i < got.count(); ++i) {
    const float g = got.data<float>()[i];
    const double w = want.data<double>()[i];
    const bool fine = tolerance == 0 ? g == static_cast<float>(w) : std::fabs(g - w) <= bound;
    ASSERT_TRUE(fine) << "element " << i << ": f32 gives " << g << ", f64 gives " << w
                      << ", allowed " << bound;
  }
}

void expect_same_bits(const Tensors& got, const Tensors& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t r = 0; r < got.size(); ++r) {
    EXPECT_TRUE(host::same_bits(got[r].contiguous(), want[r].contiguous()))
        << "result " << r << " has other bits " << what;
  }
}

// The same elements in other memory: the last dim outermost, or with gaps after each row.
enum class Layout : uint8_t { reversed, gapped };

Tensor laid_out(const Tensor& x, Layout layout) {
  const size_t rank = x.rank();
  if (rank == 0) return x;
  Shape memory = x.shape(), strides(rank);
  if (layout == Layout::reversed) {
    std::ranges::reverse(memory);
    const Shape reversed = host::row_major(memory);
    for (size_t d = 0; d < rank; ++d) strides[d] = reversed[rank - 1 - d];
  } else {
    memory.back() += 3;
    strides = host::row_major(memory);
  }
  const Tensor to = Tensor::zeros(x.dtype(), memory).view(x.shape(), strides, 0);
  const int64_t width = base::byte_size(x.dtype());
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = rank; d-- > 0; rest /= x.dim(d)) offset += rest % x.dim(d) * strides[d];
    std::memcpy(to.raw() + offset * width, x.raw() + i * width, width);
  }
  return to;
}

double input_scale(const Tensors& inputs) {
  double scale = 0;
  for (const Tensor& t : inputs) {
    if (t.dtype() == DType::f32) scale = std::max(scale, greatest(t));
  }
  return scale;
}

void expect_results(const OpDef& op, const SampleProblem& p, double tolerance, const Sizes& sizes) {
  const Graph g = build(op, p, Operands::borrowed);
  const Tensors inputs = fill_inputs(p, sizes);
  const Tensors base = run(g, inputs, sizes, 1, VectorWidth::avx2);
  const SampleProblem wide = in_precision(p, DType::f64);
  const Tensors exact = run(build(op, wide, Operands::borrowed), fill_inputs(wide, sizes), sizes, 1,
                            VectorWidth::avx2);
  const double scale = input_scale(inputs);
  ASSERT_EQ(base.size(), exact.size());
  for (size_t r = 0; r < base.size(); ++r) expect_near(base[r], exact[r], scale, tolerance);
  expect_same_bits(run(g, inputs, sizes, 2, VectorWidth::avx2), base, "with 2 threads");
  if (base::vector_width() == VectorWidth::avx512) {
    expect_same_bits(run(g, inputs, sizes, 2, VectorWidth::avx512), base, "with AVX-512");
  }
  if (op.syntax != Syntax::update) {
    const Graph owned = build(op, p, Operands::owned);
    expect_same_bits(run(owned, inputs, sizes, 1, VectorWidth::avx2), base, "in reused memory");
  }
  for (const Layout layout : {Layout::reversed, Layout::gapped}) {
    Tensors strided;
    for (const Tensor& t : inputs) strided.push_back(laid_out(t, layout));
    const Tensors again = run(g, strided, sizes, 1, VectorWidth::avx2);
    for (size_t r = 0; r < base.size(); ++r) expect_near(again[r], exact[r], scale, tolerance);
  }
}

// Shapes are compared with the inferred types by the interpreter itself; new memory is NaN, so what
// a kernel leaves unwritten shows.
TEST_P(OpTest, Results) {
  for_each_sample([&](const Sample& sample, const SampleProblem& p) {
    for (const Sizes& sizes : size_values) {
      SCOPED_TRACE(text_of(sizes));
      expect_results(op(), p, sample.tolerance, sizes);
      if (!has_sizes(sample)) break;
    }
  });
}

TEST_P(OpTest, TextReadsBack) {
  for_each_sample([&](const Sample&, const SampleProblem& p) {
    for (const Operands operands : {Operands::borrowed, Operands::owned}) {
      if (op().syntax == Syntax::update && operands == Operands::owned) continue;
      const Graph g = build(op(), p, operands);
      graph::verify(g, table());
      const std::string text = graph::print(g);
      const Graph again = graph::parse(text, "sample.graph", table());
      EXPECT_TRUE(graph::same_structure(g, again)) << text << graph::print(again);
      EXPECT_EQ(graph::print(again), text);
    }
  });
}

// sum over results of sum(result * weight), the weights being further inputs.
Value weighted_sum(Builder& b, const Values& results) {
  Value loss;
  for (const Value y : results) {
    if (b.type(y).dtype != DType::f64) continue;
    const Value w = b.input(graph::InputKind::in, "w", b.type(y));
    std::vector<int64_t> dims(b.rank(y));
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    const Value part = reduce_sum(b, mul(b, y, w), dims);
    loss = loss.valid() ? add(b, loss, part) : part;
  }
  return loss;
}

struct LossGraphs {
  Graph loss, gradients;
  std::vector<size_t> wrt;  // inputs
  bool differentiable = false;
};

LossGraphs build_loss(const OpDef& op, const SampleProblem& p) {
  LossGraphs out;
  Builder b = start_graph(p, table());
  const Values in = add_inputs(b, p);
  const NodeId node = add_sample_node(b, op, p, in);
  const Value loss = weighted_sum(b, b.graph().node(node).out);
  Values wrt;
  for (size_t i = 0; i < in.size(); ++i) {
    if (b.type(in[i]).dtype == DType::f64) wrt.push_back(in[i]), out.wrt.push_back(i);
  }
  out.differentiable = loss.valid() && !wrt.empty();
  if (!out.differentiable) return out;
  Builder forward(b.graph(), table());
  forward.return_value(loss);
  out.loss = std::move(forward).finish();
  for (const Value v : autodiff::gradients(b, loss, wrt)) b.return_value(v);
  out.gradients = graph::without_dead_nodes(std::move(b).finish());
  graph::verify(out.gradients, table());
  return out;
}

// Central differences in float64: the error is about step^2 from the third derivative, and the
// loss's own rounding over the step.
void expect_gradient(const LossGraphs& graphs, Tensors inputs, const Sizes& sizes, size_t input,
                     const Tensor& gradient_view) {
  constexpr double step = 1e-5, tolerance = 1e-6;
  constexpr int64_t probes = 24;
  const Tensor gradient = gradient_view.contiguous();
  const double bound = tolerance * std::max(1.0, greatest(gradient));
  const int64_t n = inputs[input].count();
  const auto loss_with = [&](int64_t element, double change) {
    Tensors moved = inputs;
    moved[input] = inputs[input].clone();
    moved[input].data<double>()[element] += change;
    return run(graphs.loss, moved, sizes, 1, VectorWidth::avx2)[0].data<double>()[0];
  };
  for (int64_t k = 0; k < std::min(n, probes); ++k) {
    const int64_t i = n <= probes ? k : (k * 7919 + 13) % n;
    const double difference = (loss_with(i, step) - loss_with(i, -step)) / (2 * step);
    ASSERT_NEAR(gradient.data<double>()[i], difference, bound)
        << "gradient of input " << input << " at element " << i;
  }
}

class DifferentiableOpTest : public OpTest {};

TEST_P(DifferentiableOpTest, GradientsAreFiniteDifferences) {
  bool any = false;
  for_each_sample([&](const Sample& sample, const SampleProblem& f32) {
    const SampleProblem p = in_precision(f32, DType::f64);
    const LossGraphs graphs = build_loss(op(), p);
    any |= graphs.differentiable;
    for (const Sizes& sizes : size_values) {
      if (!graphs.differentiable) break;
      SCOPED_TRACE(text_of(sizes));
      Tensors inputs = fill_inputs(p, sizes);
      for (size_t i = inputs.size(); i < graphs.loss.inputs.size(); ++i) {
        const graph::Type& type = graphs.loss.type(graphs.loss.inputs[i].value);
        inputs.push_back(fill_input({.type = type}, sizes, seed + 100 + i));
      }
      const Tensors dx = run(graphs.gradients, inputs, sizes, 1, VectorWidth::avx2);
      for (size_t i = 0; i < dx.size(); ++i) {
        expect_gradient(graphs, inputs, sizes, graphs.wrt[i], dx[i]);
      }
      if (!has_sizes(sample)) break;
    }
  });
  EXPECT_TRUE(any) << "no sample reaches the gradient rule";
}

struct Mutant {
  std::string what;
  SampleProblem problem;
};

void mutate_type(std::vector<Mutant>& out, const SampleProblem& p, const std::string& what,
                 const std::function<graph::Type&(SampleProblem&)>& type_of) {
  const auto add = [&](const std::string& how, const std::function<void(graph::Type&)>& change) {
    out.push_back({base::format("{}: {}", what, how), p});
    change(type_of(out.back().problem));
  };
  SampleProblem copy = p;
  const graph::Type type = type_of(copy);
  for (const DType d : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                        DType::u8, DType::boolean}) {
    if (d != type.dtype) add("dtype " + to_text(d), [d](graph::Type& t) { t.dtype = d; });
  }
  add("one dim more", [](graph::Type& t) { t.dims.push_back(2); });
  if (!type.dims.empty()) add("one dim less", [](graph::Type& t) { t.dims.pop_back(); });
  for (size_t d = 0; d < type.dims.size(); ++d) {
    add(base::format("dim {} + 1", d), [d](graph::Type& t) { t.dims[d] = t.dims[d] + 1; });
    add(base::format("dim {} = -1", d), [d](graph::Type& t) { t.dims[d] = -1; });
  }
}

std::vector<Mutant> mutants_of(const OpDef& op, const SampleProblem& p) {
  std::vector<Mutant> out;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    out.push_back({base::format("without operand {}", i), p});
    out.back().problem.inputs.erase(out.back().problem.inputs.begin() + i);
    mutate_type(out, p, base::format("operand {}", i),
                [i](SampleProblem& m) -> graph::Type& { return m.inputs[i].type; });
  }
  for (size_t i = 0; i < p.results.size(); ++i) {
    mutate_type(out, p, "result", [i](SampleProblem& m) -> graph::Type& { return m.results[i]; });
  }
  const auto add_attr = [&](size_t i, graph::Attr value) {
    out.push_back({base::format("another {}", op.attrs[i].name), p});
    out.back().problem.attrs[i] = std::move(value);
  };
  for (size_t i = 0; i < p.attrs.size(); ++i) {
    if (std::holds_alternative<int64_t>(p.attrs[i])) add_attr(i, 99), add_attr(i, -99);
    if (std::holds_alternative<sym::Expr>(p.attrs[i])) add_attr(i, Expr(-1));
    if (std::holds_alternative<std::string>(p.attrs[i])) add_attr(i, "no such word");
    if (std::holds_alternative<bool>(p.attrs[i])) add_attr(i, !std::get<bool>(p.attrs[i]));
    if (std::holds_alternative<std::vector<int64_t>>(p.attrs[i])) {
      add_attr(i, std::vector<int64_t>{99});
      add_attr(i, std::vector<int64_t>{0, 0});
    }
    if (std::holds_alternative<std::vector<Expr>>(p.attrs[i])) {
      add_attr(i, std::vector<Expr>{});
      add_attr(i, std::vector<Expr>{Expr(-1), Expr(2)});
    }
  }
  return out;
}

// What a shape rule accepts also runs, or fails a check; anything else is refused in words.
enum class Outcome : uint8_t { refused, ran };

Outcome try_mutant(const OpDef& op, SampleProblem p) {
  Graph g;
  try {
    g = build(op, p, Operands::borrowed);
  } catch (const base::UserError&) {
    return Outcome::refused;
  }
  graph::verify(g, table());
  const Sizes sizes = {3, 3, 3, 3};
  Tensors inputs;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    SampleInput plain{.type = p.inputs[i].type};
    try {
      inputs.push_back(fill_input(p.inputs[i], sizes, seed));
    } catch (const base::InternalError&) {  // no such filling for the changed type
      inputs.push_back(fill_input(plain, sizes, seed));
    }
  }
  try {
    run(g, inputs, sizes, 1, VectorWidth::avx2);
  } catch (const CheckFailure&) {
  }
  return Outcome::ran;
}

TEST_P(OpTest, RefusesOtherTypes) {
  int refused = 0, mutants = 0;
  for_each_sample([&](const Sample&, const SampleProblem& p) {
    for (const Mutant& m : mutants_of(op(), p)) {
      const auto negative = [](const graph::Type& t) {
        return std::ranges::any_of(t.dims, [](const Expr& d) { return d.constant() == -1; });
      };
      // An input of -1 rows cannot exist; only rules meet such a type.
      const bool no_input = std::ranges::any_of(
          m.problem.inputs, [&](const SampleInput& in) { return negative(in.type); });
      SCOPED_TRACE(m.what);
      ++mutants;
      try {
        if (no_input) {
          build(op(), m.problem, Operands::borrowed);
        } else {
          refused += try_mutant(op(), m.problem) == Outcome::refused;
        }
      } catch (const base::UserError&) {
        ++refused;
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  });
  EXPECT_TRUE(refused > 0 || op().max_inputs == 0) << "of " << mutants << " wrong problems";
}

bool is_empty(const graph::Type& t) {
  return std::ranges::any_of(t.dims, [](const Expr& d) { return d.constant() == 0; });
}

bool has_one(const graph::Type& t) {
  return std::ranges::any_of(t.dims, [](const Expr& d) { return d.constant() == 1; });
}

// Every op says what it is and costs, and has samples; among them empty tensors and dims of 1.
TEST_P(OpTest, IsComplete) {
  EXPECT_FALSE(op().about.empty());
  EXPECT_NE(op().infer, nullptr);
  EXPECT_NE(op().cost, nullptr);
  EXPECT_TRUE((op().eval.f32 && op().eval.f64) || op().syntax == Syntax::update);
  EXPECT_FALSE(op().samples.empty());
  bool empty = false, one = false;
  for_each_sample([&](const Sample& sample, const SampleProblem& p) {
    for (const SampleInput& in : p.inputs) {
      empty |= has_sizes(sample) || is_empty(in.type);
      one |= has_sizes(sample) || has_one(in.type) || in.type.dims.empty();
    }
    for (const graph::Type& t : p.results)
      empty |= is_empty(t), one |= has_one(t) || t.dims.empty();
    const Graph g = build(op(), p, Operands::borrowed);
    graph::Types in, out;
    for (const Value v : g.nodes.back().in) in.push_back(g.type(v));
    for (const Value v : g.nodes.back().out) out.push_back(g.type(v));
    const graph::Cost cost = op().cost(in, out, g.nodes.back().attrs);
    const auto three = [](sym::Leaf) { return 3; };
    EXPECT_GE(sym::evaluate(cost.flops, three), 0);
    EXPECT_GE(sym::evaluate(cost.bytes, three), 0);
  });
  if (op().syntax == Syntax::check) return;
  EXPECT_TRUE(empty) << "no sample has an empty tensor";
  EXPECT_TRUE(one) << "no sample has a dim of 1";
}

std::vector<const OpDef*> differentiable_ops() {
  std::vector<const OpDef*> out;
  for (const OpDef* op : table()) {
    if (op->grad != nullptr) out.push_back(op);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTest, testing::ValuesIn(table().begin(), table().end()),
                         print_name);
INSTANTIATE_TEST_SUITE_P(Ops, DifferentiableOpTest, testing::ValuesIn(differentiable_ops()),
                         print_name);

}  // namespace
}  // namespace ops
