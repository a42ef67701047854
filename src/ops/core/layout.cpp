// What ops that only rearrange share.
#include "ops/core/layout.h"

#include "base/error.h"

namespace ops {

using base::DType;
using graph::Expr;
using host::Shape;

Tensor everywhere(const Tensor& scalar, const Shape& shape) {
  return scalar.view(shape, Shape(shape.size(), 0), 0);
}

Tensor filled(const EvalContext& context, DType dtype, const Shape& shape, double value) {
  if (dtype == DType::f32 || dtype == DType::f64) {
    const Tensor one = Tensor::make(dtype, {}, context.account);
    if (dtype == DType::f64) *one.data<double>() = value;
    if (dtype == DType::f32) *one.data<float>() = static_cast<float>(value);
    return everywhere(one, shape);
  }
  const Tensor one = Tensor::make(DType::f64, {});
  *one.data<double>() = value;
  return everywhere(host::cast(one, dtype), shape);
}

Tensor strided_view(const Tensor& x, size_t d, int64_t start, int64_t length, int64_t step) {
  Shape shape = x.shape(), strides = x.strides();
  shape[d] = length;
  strides[d] *= step;
  return x.view(std::move(shape), std::move(strides), length > 0 ? start * x.strides()[d] : 0);
}

std::optional<Shape> reshaped_strides(const Shape& shape, const Shape& strides, const Shape& to) {
  if (host::element_count(to) == 0) return host::row_major(to);
  // Runs: neighbouring dims that lie in memory like one dim.
  Shape run_size, run_stride;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!run_size.empty() && run_stride.back() == strides[d] * shape[d]) {
      run_size.back() *= shape[d];
      run_stride.back() = strides[d];
    } else {
      run_size.push_back(shape[d]);
      run_stride.push_back(strides[d]);
    }
  }
  // Each run must hold a whole number of new dims.
  Shape result(to.size(), 1);
  size_t t = to.size();
  for (size_t r = run_size.size(); r-- > 0;) {
    int64_t left = run_size[r], stride = run_stride[r];
    while (left > 1) {
      --t;
      if (left % to[t] != 0) return std::nullopt;
      result[t] = stride;
      stride *= to[t];
      left /= to[t];
    }
  }
  return result;
}

size_t dim_of(const graph::Attrs& attrs, size_t rank) {
  const int64_t dim = attrs.integer("dim");
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

void need_sizes(graph::Shapes& s, const graph::Type& type) {
  for (const Expr& d : type.dims) {
    s.require({d, graph::Fact::Relation::at_least, 0}, "a size is at least 0");
  }
}

Span clamped(const Expr& start, const Expr& stop, int64_t step, const Expr& n) {
  // A dim is never negative, so that 0 and n themselves need no clamp.
  const auto clamp = [&n](const Expr& at) {
    if (at == Expr(0) || at == n) return at;
    const Expr from_front = sym::sel(sym::ge(at, 0), at, at + n);
    return sym::min(sym::max(from_front, 0), n);
  };
  const Expr from = clamp(start), to = clamp(stop);
  const Expr span = from == Expr(0) ? to : sym::max(to - from, 0);
  return {from, step == 1 ? span : sym::ceildiv(span, step)};
}

}  // namespace ops
