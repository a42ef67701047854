// narrow: `length` indices of one dim from `start` on, which must be there (slice clamps instead).
// A view.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const Expr &start = attrs.dim("start"), &length = attrs.dim("length");
  s.require({start, Fact::Relation::at_least, 0}, "start is at least 0");
  s.require({length, Fact::Relation::at_least, 0}, "length is at least 0");
  s.require({start + length, Fact::Relation::at_most, in[0].dims[d]},
            "start + length lie within the dim");
  graph::Type type = in[0];
  type.dims[d] = length;
  return {type};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const size_t d = dim_of(attrs, b.rank(in[0]));
  const Expr start = attrs.dim("start");
  const Expr after = b.dim(in[0], d) - start - attrs.dim("length");
  return {pad(b, dy[0], static_cast<int64_t>(d), start, after)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const size_t d = dim_of(attrs, in[0].rank());
  out[0] = strided_view(in[0], d, context.number(attrs.dim("start")), context.shapes[0][d], 1);
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"start", graph::AttrSpec::Kind::dim},
                                     {"length", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {
    {"f32[7,3] | dim=0, start=2, length=4"},   {"f32[u0 + 3,2] | dim=0, start=1, length=u0"},
    {"f32[4,6] | dim=-1, start=0, length=6"},  {"f32[4,6] | dim=1, start=6, length=0"},
    {"f32[0,3] | dim=0, start=0, length=0"},   {"i64[5] | dim=0, start=4, length=1"},
    {"f32[2,5,3] | dim=1, start=1, length=3"},
};

}  // namespace

extern const graph::OpDef narrow_op{.name = "narrow",
                                    .about = "length indices from start on, exact",
                                    .attrs = attrs,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = view_cost,
                                    .samples = samples};

Value narrow(Here h, Value x, int64_t dim, const Expr& start, const Expr& length) {
  return h.builder.add1(h, narrow_op, {{x}}, {{"dim", dim}, {"start", start}, {"length", length}});
}

}  // namespace ops
