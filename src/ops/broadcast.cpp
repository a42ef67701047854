// broadcast: x repeated to more dims. Dims align at the end; a dim of x is literally 1, or equal to
// its target. A view.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  const graph::Type& to = s.given_type();
  s.need_same_dtype(in[0], to);
  if (in[0].dims.size() > to.dims.size()) {
    s.refuse("the result must have at least as many dims as the operand, found {} from {}",
             s.text(to), s.text(in[0]));
  }
  const size_t lead = to.dims.size() - in[0].dims.size();
  for (size_t d = 0; d < to.dims.size(); ++d) {
    const bool repeats = d < lead || in[0].dims[d - lead].constant() == 1;
    if (repeats) {
      s.require({to.dims[d], Fact::Relation::at_least, 0}, "a size is at least 0");
    } else {
      s.require_equal(in[0].dims[d - lead], to.dims[d],
                      "a size that is not literally 1 must equal its target; a size from data that "
                      "happens to be 1 is not repeated");
    }
  }
  return {to};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  return {sum_to(b, dy[0], b.type(in[0]))};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  const host::Shape& shape = context.shapes[0];
  host::Shape strides(shape.size(), 0);
  const size_t lead = shape.size() - in[0].rank();
  for (size_t d = 0; d < in[0].rank(); ++d) {
    if (in[0].dim(d) != 1) strides[lead + d] = in[0].strides()[d];
  }
  out[0] = in[0].view(shape, std::move(strides), 0);
}

// The gradient sums over the repeats.
constexpr graph::Sample samples[] = {
    {"f32[3] | | f32[4,3]"},         {"f32[3,1] | | f32[3,5]"},   {"f32[] | | f32[u0]"},
    {"f32[u0,1] | | f32[u0,7]"},     {"f32[1,4] | | f32[u0,4]"},  {"f32[1] | | f32[1,1]"},
    {"i64[2,1,3] | | i64[2,4,3]"},   {"f32[0,1] | | f32[0,3]"},   {"f32[1,3] | | f32[0,3]"},
    {"f32[2,1,3] | | f32[5,2,4,3]"}, {"bool[1,2] | | bool[3,2]"},
};

}  // namespace

extern const graph::OpDef broadcast_op{.name = "broadcast",
                                       .about = "x repeated to more dims",
                                       .type_is_attribute = true,
                                       .infer = infer,
                                       .grad = grad,
                                       .eval = {eval, eval},
                                       .cost = view_cost,
                                       .samples = samples};

Value broadcast(Here h, Value x, const std::vector<Expr>& dims) {
  graph::Type type = h.builder.type(x);
  if (type.dims == dims) return x;
  type.dims = dims;
  return h.builder.add1(h, broadcast_op, {{x}}, {}, {std::move(type)});
}

}  // namespace ops
