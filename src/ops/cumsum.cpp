// cumsum: y[i] = x[0] + ... + x[i] along dim, in order, in the dtype of x; with `reverse`
// x[i] + ... + x[n - 1], from the end.
#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_number(s, in[0], "x");
  s.need_dim(in[0], attrs.integer("dim"));
  return {in[0]};
}

Value add_cumsum(Here h, Value x, int64_t dim, const graph::Attr& reverse);

Values grad(Builder& b, ValuesIn, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  return {add_cumsum(b, dy[0], attrs.integer("dim"), !attrs.flag("reverse"))};
}

template <class T>
void scan(const Tensor& x, const Tensor& out, size_t d, int64_t first, int64_t step) {
  const Around a = around(x.shape(), d);
  const T* from = x.data<T>();
  T* to = out.data<T>();
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t k = 0; k < a.size; ++k) {
      const int64_t row = (o * a.size + first + step * k) * a.inner;
      const T* before = to + row - step * a.inner;
      for (int64_t i = 0; i < a.inner; ++i) {
        to[row + i] = k == 0 ? from[row + i] : static_cast<T>(before[i] + from[row + i]);
      }
    }
  }
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const Tensor x = packed(context, in[0]);
  out[0] = context.make(0);
  if (x.count() == 0) return;
  const size_t d = dim_of(attrs, x.rank());
  const bool reverse = attrs.flag("reverse");
  with_number_type(x.dtype(), [&](auto zero) {
    scan<decltype(zero)>(x, out[0], d, reverse ? x.dim(d) - 1 : 0, reverse ? -1 : 1);
  });
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"reverse", graph::AttrSpec::Kind::flag, false}};

// As many additions as elements, half an ulp each.
constexpr graph::Sample samples[] = {
    {"f32[37] | dim=0", 3e-6},    {"f32[5,4] | dim=1, reverse", 5e-7},
    {"f32[u0,3] | dim=0", 2e-6},  {"f32[3,u0,2] | dim=-2, reverse", 2e-6},
    {"i64[9] below 100 | dim=0"}, {"i32[3,4] below 100 | dim=1"},
    {"f32[0,3] | dim=0"},         {"f32[3,0] | dim=0"},
    {"f32[1,1] | dim=0"},
};

}  // namespace

extern const graph::OpDef cumsum_op{.name = "cumsum",
                                    .about = "sums of x up to and with each place along dim",
                                    .attrs = attrs,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = elementwise_cost<1>,
                                    .samples = samples};

namespace {

Value add_cumsum(Here h, Value x, int64_t dim, const graph::Attr& reverse) {
  return h.builder.add1(h, cumsum_op, {{x}}, {{"dim", dim}, {"reverse", reverse}});
}

}  // namespace

Value cumsum(Here h, Value x, int64_t dim) { return add_cumsum(h, x, dim, false); }

}  // namespace ops
