// Batches of tiny matrix products, where a library call for each would cost more than its work:
// mixing K expert outputs per token is [T, 1, K] x [T, K, D].
#pragma once

#include "host/gemm.h"
#include "ops/core/eval.h"

namespace ops {

// c[n] = a[n] b[n] when that is many products of few operations each and the operands' strides suit
// the loops; else false, with nothing done. T is float or double.
template <class T>
bool multiply_tiny(const EvalContext& context, const Tensor& a, const Tensor& b, const Tensor& c);

}  // namespace ops
