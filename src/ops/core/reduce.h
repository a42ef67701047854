// What reductions share: which dims fold together, and the operand as outer x folded x inner.
#pragma once

#include <vector>

#include "graph/builder.h"
#include "ops/core/eval.h"

namespace ops {

// Neighbouring dims [first, last) that are folded together.
struct DimRun {
  size_t first, last;
};
std::vector<DimRun> runs_of(std::vector<int64_t> dims, size_t rank);  // ascending

// Elements of `tensor` (kept alive here) as [outer][folded][inner], strides in elements. Inner
// elements are adjacent; where the folded run is last (`by_rows`), inner is 1 and folded ones are.
struct Fold {
  Tensor tensor;
  bool by_rows;
  int64_t outer, folded, inner;
  int64_t outer_stride, folded_stride;
};
Fold make_fold(const EvalContext& context, const Tensor& x, DimRun run);

// Dims of the result: gone, or 1 with the flag `keep`.
graph::Type reduced_type(graph::Shapes& s, const graph::Type& type,
                         const std::vector<int64_t>& dims, const graph::Attrs& attrs);
// x of the result's type, with the reduced dims back as 1 where that is needed to broadcast it.
graph::Value with_reduced_dims(graph::Builder& b, graph::Value x, const graph::Type& operand,
                               const std::vector<int64_t>& dims);

}  // namespace ops
