// What ops that pick by index share.
#include "ops/core/indices.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/core/elementwise.h"

namespace ops {
namespace {

std::string place_text(const host::Shape& shape, int64_t flat) {
  if (shape.size() == 1) return base::format("row {}", flat);
  std::vector<std::string> parts(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) {
    parts[d] = base::format("{}", flat % shape[d]);
  }
  return base::format("[{}]", base::join(parts, ", "));
}

}  // namespace

Tensor checked_indices(const Tensor& index, int64_t range, std::string_view op) {
  const Tensor packed = index.contiguous();
  const int64_t* id = packed.data<int64_t>();
  const int64_t count = packed.count();
  for (int64_t i = 0; i < count; ++i) {
    if (id[i] < 0 || id[i] >= range) {
      fail_check("{}: index {} at {} is outside of [0, {})", op, id[i],
                 place_text(index.shape(), i), range);
    }
  }
  return packed;
}

int64_t row_elements(const Tensor& x) {
  return host::element_count({x.shape().data() + 1, x.rank() - 1});
}

Tensor with_packed_rows(const EvalContext& context, const Tensor& x) {
  int64_t expected = 1;
  for (size_t d = x.rank(); d-- > 1; expected *= x.dim(d)) {
    if (x.dim(d) != 1 && x.strides()[d] != expected) return packed(context, x);
  }
  return x;
}

Around around(const host::Shape& shape, size_t d) {
  return {host::element_count({shape.data(), d}), shape[d],
          host::element_count({shape.data() + d + 1, shape.size() - d - 1})};
}

int64_t grain_of(int64_t bytes_per_row) {
  constexpr int64_t bytes =
      1 << 16;  // about 10 us: below, a second thread costs more than it gives
  return std::max<int64_t>(1, bytes / std::max<int64_t>(1, bytes_per_row));
}

graph::Cost touch_cost(TypesIn in, TypesIn out, const Attrs&) {
  std::vector<graph::Expr> bytes;
  for (const graph::Type& t : in) bytes.push_back(byte_count(t));
  for (const graph::Type& t : out) bytes.push_back(byte_count(t));
  return {0, sym::sum(bytes)};
}

void need_indices(const Shapes& s, const graph::Type& type, std::string_view operand) {
  s.need_dtype(type, base::DType::i64, operand);
}

void need_same_dims_but(Shapes& s, const graph::Type& a, const graph::Type& b, size_t d) {
  if (a.dims.size() != b.dims.size()) {
    s.refuse("operands must have as many dims, found {} and {}", s.text(a), s.text(b));
  }
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (i != d) s.require_equal(a.dims[i], b.dims[i], "the other dims are equal");
  }
}

}  // namespace ops
