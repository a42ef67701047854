// What the ops that multiply matrices share.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"
#include "ops/core/eval.h"

namespace ops {

// Offsets of groups of rows, i64[E+1] as device_sizes gives them: ascending from 0 to at most
// `rows`, else a CheckFailure.
std::vector<int64_t> checked_offsets(const Tensor& offsets, int64_t rows, std::string_view op);

Tensor rows_of(const Tensor& x, int64_t begin, int64_t end);             // a view of x[begin..end)
Tensor matrix_of(const Tensor& x, int64_t index);                        // a view of x[index]
void fill_rows_with_zeros(const Tensor& x, int64_t begin, int64_t end);  // x is row-major

// 2 rows inner columns operations for each of `batch` products.
graph::Cost product_cost(std::span<const graph::Expr> flop_factors, graph::TypesIn in,
                         graph::TypesIn out);

}  // namespace ops
