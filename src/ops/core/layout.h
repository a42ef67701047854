// What ops that only rearrange share: views, tensors of one number, and the sizes of clamped
// slices.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "ops/core/eval.h"

namespace ops {

// The one element of `scalar` at every place of `shape`: a view.
Tensor everywhere(const Tensor& scalar, const host::Shape& shape);
Tensor filled(const EvalContext& context, base::DType dtype, const host::Shape& shape,
              double value);

// Every `step`-th index of dim `d` from `start` on, `length` of them: a view.
Tensor strided_view(const Tensor& x, size_t d, int64_t start, int64_t length, int64_t step);

// Strides that show memory of `shape` and `strides` as `to`, of equally many elements in the same
// order; none when no strides can.
std::optional<host::Shape> reshaped_strides(const host::Shape& shape, const host::Shape& strides,
                                            const host::Shape& to);

// Dim attribute, checked by the shape rule before; negative counts from the end.
size_t dim_of(const graph::Attrs& attrs, size_t rank);

// Dims of a type that is an attribute: each is >= 0.
void need_sizes(graph::Shapes& s, const graph::Type& type);

// Start and length of indices start, start + step, ... below stop in a dim of n, clamped to it as
// Python does (design: symbolic shapes 6.3).
struct Span {
  graph::Expr start, length;
};
Span clamped(const graph::Expr& start, const graph::Expr& stop, int64_t step, const graph::Expr& n);

}  // namespace ops
