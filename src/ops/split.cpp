// split: one dim cut into pieces of the given sizes, which add up to it. Views.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  const size_t d = s.need_dim(in[0], attrs.integer("dim"));
  const std::vector<Expr>& sizes = attrs.dims("sizes");
  for (const Expr& size : sizes) {
    s.require({size, Fact::Relation::at_least, 0}, "a size is at least 0");
  }
  s.require_equal(sym::sum(sizes), in[0].dims[d], "the sizes add up to the dim");
  Types types(sizes.size(), in[0]);
  for (size_t i = 0; i < sizes.size(); ++i) types[i].dims[d] = sizes[i];
  return types;
}

// One concat; zeros stand in for the pieces that nothing depends on.
Values grad(Builder& b, ValuesIn, ValuesIn out, ValuesIn dy, const Attrs& attrs) {
  Values parts;
  for (size_t i = 0; i < dy.size(); ++i) parts.push_back(or_zeros(b, dy[i], out[i]));
  return {concat(b, parts, attrs.integer("dim"))};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  const size_t d = dim_of(attrs, in[0].rank());
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t length = context.shapes[i][d];
    out[i] = strided_view(in[0], d, start, length, 1);
    start += length;
  }
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer},
                                     {"sizes", graph::AttrSpec::Kind::dims}};

constexpr graph::Sample samples[] = {
    {"f32[7,3] | dim=0, sizes=[2, 5]"},      {"f32[u0 + u1,3] | dim=0, sizes=[u0, u1]"},
    {"f32[4,6] | dim=-1, sizes=[1, 0, 5]"},  {"f32[0,3] | dim=0, sizes=[0, 0]"},
    {"f32[u0 + 1] | dim=0, sizes=[u0, 1]"},  {"i64[6] | dim=0, sizes=[6]"},
    {"f32[2,5,3] | dim=1, sizes=[2, 2, 1]"},
};

}  // namespace

extern const graph::OpDef split_op{.name = "split",
                                   .about = "one dim cut into pieces",
                                   .attrs = attrs,
                                   .infer = infer,
                                   .grad = grad,
                                   .eval = {eval, eval},
                                   .cost = view_cost,
                                   .samples = samples};

Values split(Here h, Value x, int64_t dim, const std::vector<Expr>& sizes) {
  return h.builder.add(h, split_op, {{x}}, {{"dim", dim}, {"sizes", sizes}});
}

}  // namespace ops
