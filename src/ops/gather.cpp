// gather: y[.., i, ..] = x[.., index[.., i, ..], ..] along dim; the other dims are equal.
#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  need_indices(s, in[1], "index");
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  need_same_dims_but(s, in[0], in[1], d);
  graph::Type out = in[0];
  out.dims[d] = in[1].dims[d];
  return {out};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const int64_t dim = attrs.integer("dim");
  const size_t d = dim_of(attrs, b.rank(in[0]));
  return {scatter_add(b, dy[0], in[1], dim, b.dim(in[0], d)), {}};
}

template <class T>  // a word as wide as an element
void pick(const EvalContext& context, const Tensor& x, const int64_t* id, const Tensor& out,
          size_t d) {
  const Around from = around(x.shape(), d), to = around(out.shape(), d);
  const T* source = reinterpret_cast<const T*>(x.raw());
  T* target = reinterpret_cast<T*>(out.raw());
  const int64_t row = to.size * to.inner;
  context.pool.parallel_for(to.outer, grain_of(row * 16), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* block = source + o * from.size * from.inner;
      for (int64_t i = 0; i < row; ++i) {
        target[o * row + i] = block[id[o * row + i] * from.inner + i % to.inner];
      }
    }
  });
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const Tensor x = packed(context, in[0]);
  const size_t d = dim_of(attrs, x.rank());
  const Tensor index = checked_indices(in[1], x.dim(d), "gather");
  const int64_t* id = index.data<int64_t>();
  switch (base::byte_size(x.dtype())) {
    case 1:
      return pick<uint8_t>(context, x, id, out[0], d);
    case 2:
      return pick<uint16_t>(context, x, id, out[0], d);
    case 4:
      return pick<uint32_t>(context, x, id, out[0], d);
    default:
      return pick<uint64_t>(context, x, id, out[0], d);
  }
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer}};

constexpr graph::Sample samples[] = {
    {"f32[5,7], i64[5,3] below 7 | dim=1"},
    {"f32[5,7], i64[2,7] below 5 | dim=0"},
    {"f32[u0,8], i64[u0,3] below 8 | dim=-1"},
    {"f32[2,4,3], i64[2,u0,3] below 4 | dim=1"},
    {"f32[6], i64[4] below 6 | dim=0"},
    {"f32[0,4], i64[0,2] | dim=1"},
    {"f32[3,0], i64[3,0] | dim=1"},
    {"f32[1,1], i64[1,1] below 1 | dim=1"},
    {"i64[3,4], i64[3,2] below 4 | dim=1"},
    {"bool[3,4], i64[3,2] below 4 | dim=1"},
    {.problem = "f32[2048,64], i64[2048,6] below 64 | dim=1", .bench = true}};

}  // namespace

extern const graph::OpDef gather_op{.name = "gather",
                                    .about = "x at one index along dim for each place of index",
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .attrs = attrs,
                                    .may_fail = true,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = copy_cost,
                                    .samples = samples};

Value gather(Here h, Value x, Value index, int64_t dim) {
  return h.builder.add1(h, gather_op, {{x, index}}, {{"dim", dim}});
}

}  // namespace ops
