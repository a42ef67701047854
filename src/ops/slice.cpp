// slice: indices start, start + step, ... below stop of one dim; start and stop count from the end
// when negative and are clamped to the dim, as in Python. A view.
#include <algorithm>

#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const int64_t step = attrs.integer("step");
  if (step < 1) s.refuse("step must be at least 1, found {}", step);
  graph::Type type = in[0];
  type.dims[d] = clamped(attrs.dim("start"), attrs.dim("stop"), step, in[0].dims[d]).length;
  return {type};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  std::vector<Expr> dims = b.type(dy[0]).dims;
  const size_t d = dim_of(attrs, dims.size());
  const int64_t dim = static_cast<int64_t>(d), step = attrs.integer("step");
  const Expr n = b.dim(in[0], d);
  const Span span = clamped(attrs.dim("start"), attrs.dim("stop"), step, n);
  if (step == 1) return {pad(b, dy[0], dim, span.start, n - span.start - span.length)};
  // Each gradient with step - 1 zeros behind it, cut or filled up to the end of the dim. The last
  // one may stand within step - 1 of the end, hence first filled up, then cut.
  dims.insert(dims.begin() + dim + 1, Expr(1));
  const Value spread = pad(b, reshape(b, dy[0], dims), dim + 1, 0, step - 1);
  dims.erase(dims.begin() + dim + 1);
  dims[d] = span.length * step;
  const Expr rest = n - span.start;
  const Value filled_up = pad(b, reshape(b, spread, dims), dim, 0, rest);
  return {pad(b, narrow(b, filled_up, dim, 0, rest), dim, span.start, 0)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const size_t d = dim_of(attrs, in[0].rank());
  const int64_t n = in[0].dim(d);
  int64_t start = context.number(attrs.dim("start"));
  start = std::clamp<int64_t>(start < 0 ? start + n : start, 0, n);
  out[0] = strided_view(in[0], d, start, context.shapes[0][d], attrs.integer("step"));
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"start", graph::AttrSpec::Kind::dim},
                                     {"stop", graph::AttrSpec::Kind::dim},
                                     {"step", graph::AttrSpec::Kind::integer, false, 1}};

constexpr graph::Sample samples[] = {
    {"f32[7,3] | dim=0, start=2, stop=5"},
    {"f32[9,3] | dim=0, start=0, stop=u0"},
    {"f32[u0,3] | dim=0, start=1, stop=4"},
    {"f32[4,6] | dim=1, start=-4, stop=-1"},
    {"f32[4,6] | dim=-1, start=1, stop=100"},
    {"f32[4,3] | dim=0, start=3, stop=1"},
    {"f32[0,3] | dim=0, start=0, stop=2"},
    {"f32[10] | dim=0, start=0, stop=10, step=2"},
    {"f32[10,2] | dim=0, start=1, stop=9, step=3"},
    {"f32[u0] | dim=0, start=1, stop=u0, step=2"},
    {"i64[5] | dim=0, start=1, stop=2"},
};

}  // namespace

extern const graph::OpDef slice_op{.name = "slice",
                                   .about = "indices start, start + step, ... below stop, clamped",
                                   .attrs = attrs,
                                   .infer = infer,
                                   .grad = grad,
                                   .eval = {eval, eval},
                                   .cost = view_cost,
                                   .samples = samples};

Value slice(Here h, Value x, int64_t dim, const Expr& start, const Expr& stop, int64_t step) {
  return h.builder.add1(h, slice_op, {{x}},
                        {{"dim", dim}, {"start", start}, {"stop", stop}, {"step", step}});
}

}  // namespace ops
