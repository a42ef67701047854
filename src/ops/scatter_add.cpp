// scatter_add: zeros of `size` along dim, with y[.., index[.., i, ..], ..] += x[.., i, ..] in order
// of i, in the dtype of x. The gradient of gather.
#include <algorithm>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_float(in[0], "x");
  need_indices(s, in[1], "index");
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  need_same_dims_but(s, in[0], in[1], d);
  s.require_equal(in[0].dims[d], in[1].dims[d], "each element has one index");
  s.require({attrs.dim("size"), Fact::Relation::at_least, 0}, "size is at least 0");
  graph::Type out = in[0];
  out.dims[d] = attrs.dim("size");
  return {out};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  return {gather(b, dy[0], in[1], attrs.integer("dim")), {}};
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const Tensor x = packed(context, in[0]);
  const size_t d = dim_of(attrs, x.rank());
  const Tensor index = checked_indices(in[1], out[0].dim(d), "scatter_add");
  const int64_t* id = index.data<int64_t>();
  const Around from = around(x.shape(), d), to = around(out[0].shape(), d);
  const T* source = x.data<T>();
  T* target = out[0].data<T>();
  const int64_t row = from.size * from.inner, block = to.size * to.inner;
  const int64_t grain = grain_of((row + block) * static_cast<int64_t>(sizeof(T)));
  context.pool.parallel_for(to.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T* sum = target + o * block;
      std::fill_n(sum, block, T(0));
      for (int64_t i = 0; i < row; ++i) {
        sum[id[o * row + i] * to.inner + i % to.inner] += source[o * row + i];
      }
    }
  });
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"size", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {
    {"f32[5,3], i64[5,3] below 7 | dim=1, size=7", 1e-6},
    {"f32[6,3], i64[6,3] below 2 | dim=0, size=2", 1e-6},
    {"f32[u0,3], i64[u0,3] below 8 | dim=-1, size=8", 1e-6},
    {"f32[2,u0,3], i64[2,u0,3] below 4 | dim=1, size=u1 + 4", 2e-6},
    {"f32[4], i64[4] below 6 | dim=0, size=6", 1e-6},
    {"f32[0,2], i64[0,2] | dim=1, size=4"},
    {"f32[3,0], i64[3,0] | dim=1, size=0"},
    {"f32[1,1], i64[1,1] below 1 | dim=1, size=1"},
    {.problem = "f32[2048,6], i64[2048,6] below 64 | dim=1, size=64", .bench = true}};

}  // namespace

extern const graph::OpDef scatter_add_op{.name = "scatter_add",
                                         .about = "zeros, with x added at one index along dim each",
                                         .min_inputs = 2,
                                         .max_inputs = 2,
                                         .attrs = attrs,
                                         .may_fail = true,
                                         .infer = infer,
                                         .grad = grad,
                                         .eval = {eval<float>, eval<double>},
                                         .cost = copy_cost,
                                         .samples = samples};

Value scatter_add(Here h, Value x, Value index, int64_t dim, const Expr& size) {
  return h.builder.add1(h, scatter_add_op, {{x, index}}, {{"dim", dim}, {"size", size}});
}

}  // namespace ops
