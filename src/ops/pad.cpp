// pad: zeros before and after x along one dim.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const Expr &before = attrs.dim("before"), &after = attrs.dim("after");
  s.require({before, Fact::Relation::at_least, 0}, "the padding before is at least 0");
  s.require({after, Fact::Relation::at_least, 0}, "the padding after is at least 0");
  graph::Type type = in[0];
  type.dims[d] = before + in[0].dims[d] + after;
  return {type};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const size_t d = dim_of(attrs, b.rank(in[0]));
  const Expr length = b.dim(in[0], d);
  return {narrow(b, dy[0], static_cast<int64_t>(d), attrs.dim("before"), length)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const size_t d = dim_of(attrs, in[0].rank());
  host::Shape before = in[0].shape(), after = in[0].shape();
  before[d] = context.number(attrs.dim("before"));
  after[d] = context.number(attrs.dim("after"));
  Tensor parts[] = {filled(context, in[0].dtype(), before, 0), in[0],
                    filled(context, in[0].dtype(), after, 0)};
  out[0] = context.make(0);
  join(context, parts, d, out[0]);
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"before", graph::AttrSpec::Kind::dim},
                                     {"after", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {
    {"f32[3,2] | dim=0, before=2, after=1"},   {"f32[u0,2] | dim=0, before=0, after=u1"},
    {"f32[3,2] | dim=-1, before=1, after=0"},  {"f32[0,2] | dim=0, before=0, after=0"},
    {"f32[0] | dim=0, before=0, after=4"},     {"i64[3] | dim=0, before=1, after=1"},
    {"f32[2,3,2] | dim=1, before=1, after=2"},
};

}  // namespace

extern const graph::OpDef pad_op{.name = "pad",
                                 .about = "zeros before and after x along one dim",
                                 .attrs = attrs,
                                 .infer = infer,
                                 .grad = grad,
                                 .eval = {eval, eval},
                                 .cost = copy_cost,
                                 .samples = samples};

Value pad(Here h, Value x, int64_t dim, const Expr& before, const Expr& after) {
  return h.builder.add1(h, pad_op, {{x}}, {{"dim", dim}, {"before", before}, {"after", after}});
}

}  // namespace ops
