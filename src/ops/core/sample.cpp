// Sample problems of ops.
#include "ops/core/sample.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "graph/text.h"

namespace ops {

using base::DType;
using graph::OpDef;
using graph::Type;
using host::Tensor;

namespace {

constexpr int max_sizes = 4;

// Parts of a list, without commas inside brackets or quotes.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == ',' && depth == 0 && !quoted) {
      parts.emplace_back(base::trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!base::trim(part).empty()) parts.emplace_back(base::trim(part));
  return parts;
}

// How an input is filled; `limit` is left as text.
SampleInput read_fill(std::string_view text, std::string& limit) {
  using Fill = SampleInput::Fill;
  SampleInput input;
  const auto take = [&](std::string_view words, Fill fill) {
    if (!text.starts_with(words)) return false;
    input.fill = fill;
    limit = base::trim(text.substr(words.size()));
    return true;
  };
  if (text.empty()) return input;
  if (text == "ascending" || text == "true") {
    input.fill = text == "true" ? Fill::true_only : Fill::ascending;
  } else if (text.starts_with("in ")) {
    const size_t dots = text.find("..");
    if (dots == text.npos) base::fail_internal("sample: range {}", text);
    input.low = std::strtod(std::string(text.substr(3, dots - 3)).c_str(), nullptr);
    input.high = std::strtod(std::string(text.substr(dots + 2)).c_str(), nullptr);
  } else if (!take("distinct below ", Fill::distinct) && !take("below ", Fill::below) &&
             !take("counts of ", Fill::counts) && !take("offsets of ", Fill::offsets)) {
    base::fail_internal("sample: no way to fill called '{}'", text);
  }
  return input;
}

// Stands in for the op in the text, with its attributes: the reader then needs no result types.
graph::Types given_types(graph::Shapes& s, graph::TypesIn, const graph::Attrs&) {
  return s.given();
}

}  // namespace

SampleProblem read_sample(const OpDef& op, const graph::Sample& sample) {
  std::vector<std::string> sections = base::split(sample.problem, '|');
  sections.resize(3);
  SampleProblem out;
  std::string text = "graph sample \"\" {\n";
  for (int i = 0; i < max_sizes; ++i) {
    out.sizes.push_back(base::format("u{}", i));
    text += base::format("  size u{}=0\n", i);
  }
  for (const std::string& input : split_list(sections[0])) {
    const size_t end = input.find(']') + 1;
    std::string limit = "10";
    out.inputs.push_back(read_fill(base::trim(std::string_view(input).substr(end)), limit));
    text += base::format("  in %x{} : {}\n  in %limit{} : i64[{}]\n", out.inputs.size(),
                         input.substr(0, end), out.inputs.size(), limit);
  }
  const std::vector<std::string> results = split_list(sections[2]);
  text += results.empty() ? "  %y : bool[]" : base::format("  %y : {}", results[0]);
  text += base::format(" = sample({})\n  return %y\n}}\n", sections[1]);

  const OpDef probe{.name = "sample",
                    .min_inputs = 0,
                    .attrs = op.attrs,
                    .type_is_attribute = true,
                    .infer = given_types};
  const OpDef* const table[] = {&probe};
  const graph::Graph g = graph::parse(text, base::format("sample of {}", op.name), table);
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    out.inputs[i].type = g.type(g.inputs[2 * i].value);
    out.inputs[i].limit = g.type(g.inputs[2 * i + 1].value).dims.at(0);
  }
  const std::span<const graph::Attr> attrs = g.nodes.at(0).attrs.values();
  out.attrs.assign(attrs.begin(), attrs.end());
  if (!results.empty()) out.results = {g.type(g.nodes[0].out[0])};
  return out;
}

SampleProblem in_precision(SampleProblem problem, DType real) {
  const auto replace = [real](Type& type) {
    if (type.dtype == DType::f32) type.dtype = real;
  };
  for (SampleInput& input : problem.inputs) replace(input.type);
  for (Type& type : problem.results) replace(type);
  return problem;
}

graph::Builder start_graph(const SampleProblem& problem, graph::OpTable table) {
  graph::Builder b("sample", "", table);
  for (const std::string& name : problem.sizes) b.size(name, 0);
  return b;
}

graph::Values add_inputs(graph::Builder& b, const SampleProblem& problem) {
  graph::Values in;
  for (const SampleInput& input : problem.inputs) {
    in.push_back(b.input(graph::InputKind::in, base::format("x{}", in.size()), input.type));
  }
  return in;
}

graph::NodeId add_sample_node(graph::Builder& b, const OpDef& op, const SampleProblem& problem,
                              graph::ValuesIn in) {
  const bool counts = op.syntax == graph::Syntax::sizes && in.size() == 1 && b.rank(in[0]) == 1;
  const auto count = counts ? b.facts().number(b.dim(in[0], 0)) : std::nullopt;
  if (count) {
    const std::vector<sym::Expr> borne = b.add_sizes(b, op, in[0], *count, "n");
    const graph::NodeId node{static_cast<uint32_t>(b.graph().nodes.size() - 1)};
    b.add_facts(node, {{sym::sum(borne), graph::Fact::Relation::equal, problem.inputs[0].limit}});
    return node;
  }
  graph::Node node;
  node.op = &op;
  node.in.assign(in.begin(), in.end());
  node.attrs = graph::Attrs(op, problem.attrs);
  node.scope = b.scope();
  return b.add_node(std::move(node), problem.results, {});
}

namespace {

using Random = std::mt19937_64;

int64_t below(Random& random, int64_t limit) {
  if (limit <= 0) base::fail_internal("sample: no whole number is in [0, {})", limit);
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

std::vector<int64_t> counts_of(Random& random, int64_t groups, int64_t total) {
  std::vector<int64_t> counts(groups);
  const int64_t used = std::max<int64_t>(1, groups - 1);  // one group stays empty
  const int64_t shift = groups > 0 ? below(random, groups) : 0;
  if (groups == 0 && total > 0) base::fail_internal("sample: {} rows in no group", total);
  for (int64_t i = 0; i < total; ++i) ++counts[(below(random, used) + shift) % groups];
  return counts;
}

std::vector<int64_t> whole_numbers(const SampleInput& input, const host::Shape& shape,
                                   int64_t limit, Random& random) {
  using Fill = SampleInput::Fill;
  const int64_t n = host::element_count(shape);
  std::vector<int64_t> out(n);
  switch (input.fill) {
    case Fill::any:
    case Fill::below:
    case Fill::true_only:
      for (int64_t& x : out) x = below(random, limit);
      break;
    case Fill::distinct: {
      std::vector<int64_t> all(limit);
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), random);
      if (n > limit) base::fail_internal("sample: {} distinct numbers below {}", n, limit);
      std::copy_n(all.begin(), n, out.begin());
      break;
    }
    case Fill::counts:
      out = counts_of(random, n, limit);
      break;
    case Fill::offsets: {
      const std::vector<int64_t> counts = counts_of(random, n - 1, limit);
      std::partial_sum(counts.begin(), counts.end(), out.begin() + 1);
      break;
    }
    case Fill::ascending:
      for (int64_t i = 0; i < n; ++i) {
        out[i] = i % shape.back() == 0 ? 0 : out[i - 1] + below(random, 3) / 2;
      }
      break;
  }
  return out;
}

template <class T, class Next>
void fill_with(const Tensor& x, const Next& next) {
  for (int64_t i = 0; i < x.count(); ++i) x.data<T>()[i] = static_cast<T>(next(i));
}

}  // namespace

Tensor fill_input(const SampleInput& input, std::span<const int64_t> sizes, uint64_t seed) {
  const auto number = [&](const sym::Expr& e) {
    return sym::evaluate(e, [&](sym::Leaf leaf) { return sizes[leaf.id]; });
  };
  host::Shape shape;
  for (const sym::Expr& d : input.type.dims) shape.push_back(number(d));
  Random random(seed);
  const DType dtype = input.type.dtype;
  if (base::is_float(dtype)) {
    const Tensor x = Tensor::make(DType::f32, shape);
    fill_with<float>(x, [&](int64_t) {
      return input.low + (input.high - input.low) * 0x1p-24 * static_cast<double>(random() >> 40);
    });
    return host::cast(x, dtype);
  }
  const Tensor x = Tensor::make(dtype, shape);
  if (dtype == DType::boolean) {
    const bool always = input.fill == SampleInput::Fill::true_only;
    fill_with<bool>(x, [&](int64_t) { return always || random() % 2; });
    return x;
  }
  const std::vector<int64_t> whole = whole_numbers(input, shape, number(input.limit), random);
  const auto at = [&](int64_t i) { return whole[i]; };
  if (dtype == DType::i64) fill_with<int64_t>(x, at);
  if (dtype == DType::i32) fill_with<int32_t>(x, at);
  if (dtype == DType::u8) fill_with<uint8_t>(x, at);
  return x;
}

}  // namespace ops
