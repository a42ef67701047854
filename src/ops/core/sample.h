// Sample problems of ops, as text: "inputs | attributes | result types". Tests, benches and the
// comparison of two executors run them.
//
//   f32[6,4], i64[u0] below 6 | dim=0, keep | f32[u0,3]
//
// Types and attributes are those of the graph text. Sizes u0 to u3 take any value, 0 too. Result
// types are given only for ops whose result type is an attribute. How an input is filled:
//
//   (nothing)        floats in [-2, 2), whole numbers in [0, 10), bools of either kind
//   in 0.5..2        floats in this range
//   below N          whole numbers in [0, N)
//   distinct below N the same, no two alike
//   counts of N      whole numbers >= 0 that add up to N, some of them 0 where that is possible
//   offsets of N     sums of such counts, from 0 to N: one number more than groups
//   ascending        whole numbers from 0 on that rise by 0 or 1 along the last dim
//   true             bools that are true
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"
#include "host/tensor.h"

namespace ops {

struct SampleInput {
  enum class Fill : uint8_t { any, below, distinct, counts, offsets, ascending, true_only };
  graph::Type type;
  Fill fill = Fill::any;
  sym::Expr limit = 10;         // of whole numbers
  double low = -2.0, high = 2;  // of floats
};

struct SampleProblem {
  std::vector<std::string> sizes;  // u0, u1, ...: the leaf ids of all types and attributes
  std::vector<SampleInput> inputs;
  std::vector<graph::Attr> attrs;  // by position
  graph::Types results;            // where the result type is an attribute
};

// Throws UserError at line and column when the text does not read.
SampleProblem read_sample(const graph::OpDef& op, const graph::Sample& sample);

// The problem in another precision: f32 becomes `real`.
SampleProblem in_precision(SampleProblem problem, base::DType real);

// A builder that has the problem's sizes; its inputs; its node on any operands.
graph::Builder start_graph(const SampleProblem& problem, graph::OpTable table);
graph::Values add_inputs(graph::Builder& b, const SampleProblem& problem);
graph::NodeId add_sample_node(graph::Builder& b, const graph::OpDef& op,
                              const SampleProblem& problem, graph::ValuesIn in);

// `sizes`: the values of u0, u1, ...; the same numbers come out for f32 and f64.
host::Tensor fill_input(const SampleInput& input, std::span<const int64_t> sizes, uint64_t seed);

}  // namespace ops
