// What ops that pick by index share: range checks, rows as runs of bytes, and dims around one dim.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/dtype.h"
#include "base/error.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "ops/core/eval.h"

namespace ops {

// Indices in row-major order, each in [0, range); else a CheckFailure that names the op, the index,
// its place and the range.
Tensor checked_indices(const Tensor& index, int64_t range, std::string_view op);

// x itself when each of its rows x[i] lies in memory in row-major order, else a row-major copy.
Tensor with_packed_rows(const EvalContext& context, const Tensor& x);
int64_t row_elements(const Tensor& x);  // elements of x[i]

// A shape as outer x size x inner around dim d.
struct Around {
  int64_t outer, size, inner;
};
Around around(const host::Shape& shape, size_t d);

// Rows a block of work so that it moves at least `bytes`.
int64_t grain_of(int64_t bytes_per_row);

// Cost rule: no arithmetic; every operand and result moves once.
graph::Cost touch_cost(graph::TypesIn in, graph::TypesIn out, const graph::Attrs& attrs);

void need_indices(const graph::Shapes& s, const graph::Type& type, std::string_view operand);
// All dims equal, except for dim `d`.
void need_same_dims_but(graph::Shapes& s, const graph::Type& a, const graph::Type& b, size_t d);

// Calls f(T{}) where T is the type of an element; number dtypes only, as the shape rules demand.
template <class F>
void with_number_type(base::DType dtype, const F& f) {
  switch (dtype) {
    case base::DType::f32:
      return f(float{});
    case base::DType::f64:
      return f(double{});
    case base::DType::i64:
      return f(int64_t{});
    case base::DType::i32:
      return f(int32_t{});
    case base::DType::bf16:
    case base::DType::f16:
    case base::DType::u8:
    case base::DType::boolean:
      break;
  }
  base::fail_internal("no kernel for {}", dtype);
}

}  // namespace ops
