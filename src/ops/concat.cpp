// concat: operands behind one another along one dim; their other dims are equal.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  graph::Type type = in[0];
  const size_t d = s.need_dim(type, attrs.integer("dim"));
  std::vector<Expr> lengths;
  for (const graph::Type& part : in) {
    s.need_same_dtype(type, part);
    s.need_rank(part, type.dims.size(), "each operand");
    lengths.push_back(part.dims[d]);
    for (size_t k = 0; k < type.dims.size(); ++k) {
      if (k != d) s.require_equal(type.dims[k], part.dims[k], "the other sizes are equal");
    }
  }
  type.dims[d] = sym::sum(lengths);
  return {type};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  if (in.size() == 1) return {dy[0]};
  const size_t d = dim_of(attrs, b.rank(in[0]));
  std::vector<Expr> lengths;
  for (const Value part : in) lengths.push_back(b.dim(part, d));
  return split(b, dy[0], static_cast<int64_t>(d), lengths);
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  join(context, in, dim_of(attrs, in[0].rank()), out[0]);
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer}};

constexpr graph::Sample samples[] = {
    {"f32[2,3], f32[4,3] | dim=0"},     {"f32[u0,3], f32[u1,3], f32[2,3] | dim=0"},
    {"f32[4,1], f32[4,5] | dim=1"},     {"f32[0,3], f32[0,3] | dim=0"},
    {"f32[2,3], f32[0,3] | dim=-2"},    {"f32[5] | dim=0"},
    {"i64[u0], i64[3] | dim=0"},        {"bool[2,2], bool[2,1] | dim=1"},
    {"f32[2,3,2], f32[2,1,2] | dim=1"},
};

}  // namespace

extern const graph::OpDef concat_op{.name = "concat",
                                    .about = "operands behind one another along one dim",
                                    .max_inputs = -1,
                                    .attrs = attrs,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval, eval},
                                    .cost = copy_cost,
                                    .samples = samples};

Value concat(Here h, ValuesIn parts, int64_t dim) {
  return h.builder.add1(h, concat_op, parts, {{"dim", dim}});
}

}  // namespace ops
