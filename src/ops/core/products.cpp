// What the ops that multiply matrices share.
#include "ops/core/products.h"

#include <cstring>

#include "ops/core/indices.h"

namespace ops {

std::vector<int64_t> checked_offsets(const Tensor& offsets, int64_t rows, std::string_view op) {
  const Tensor packed = offsets.contiguous();
  const int64_t* at = packed.data<int64_t>();
  std::vector<int64_t> out(at, at + packed.count());
  if (out.empty() || out[0] != 0) fail_check("{}: the first offset must be 0", op);
  for (size_t e = 1; e < out.size(); ++e) {
    if (out[e] < out[e - 1] || out[e] > rows) {
      fail_check("{}: offset {} is {}, expected a number from {} to {} rows", op, e, out[e],
                 out[e - 1], rows);
    }
  }
  return out;
}

Tensor rows_of(const Tensor& x, int64_t begin, int64_t end) {
  host::Shape shape = x.shape();
  shape[0] = end - begin;
  return x.view(std::move(shape), x.strides(), begin * x.strides()[0]);
}

Tensor matrix_of(const Tensor& x, int64_t index) {
  return x.view({x.shape().begin() + 1, x.shape().end()},
                {x.strides().begin() + 1, x.strides().end()}, index * x.strides()[0]);
}

void fill_rows_with_zeros(const Tensor& x, int64_t begin, int64_t end) {
  const int64_t bytes = row_elements(x) * base::byte_size(x.dtype());
  if (bytes == 0 || begin == end) return;
  std::memset(x.raw() + begin * bytes, 0, (end - begin) * bytes);
}

graph::Cost product_cost(std::span<const graph::Expr> flop_factors, graph::TypesIn in,
                         graph::TypesIn out) {
  graph::Cost cost = touch_cost(in, out, {});
  cost.flops = sym::product(flop_factors) * 2;
  return cost;
}

}  // namespace ops
