// reshape: the same elements in row-major order under other dims. A view where the operand's memory
// allows, else a copy.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  const graph::Type& to = s.given_type();
  s.need_same_dtype(in[0], to);
  need_sizes(s, to);
  s.require_equal(element_count(in[0]), element_count(to), "element counts differ");
  return {to};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  const std::vector<Expr> dims = b.type(in[0]).dims;
  return {reshape(b, dy[0], dims)};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  const host::Shape& to = context.shapes[0];
  if (const auto strides = reshaped_strides(in[0].shape(), in[0].strides(), to)) {
    out[0] = in[0].view(to, *strides, 0);
  } else {
    out[0] = packed(context, in[0]).view(to, host::row_major(to), 0);
  }
}

constexpr graph::Sample samples[] = {
    {"f32[6,4] | | f32[3,8]"}, {"f32[u0,6] | | f32[u0,2,3]"}, {"f32[u0,6] | | f32[2*u0,3]"},
    {"f32[0,4] | | f32[2,0]"}, {"f32[] | | f32[1,1]"},        {"i64[4,3] | | i64[12]"},
    {"f32[1,5] | | f32[5]"},   {"bool[4] | | bool[2,2]"},
};

}  // namespace

extern const graph::OpDef reshape_op{.name = "reshape",
                                     .about = "the same elements under other dims",
                                     .type_is_attribute = true,
                                     .infer = infer,
                                     .grad = grad,
                                     .eval = {eval, eval},
                                     .cost = view_cost,
                                     .samples = samples};

Value reshape(Here h, Value x, const std::vector<Expr>& dims) {
  graph::Type type = h.builder.type(x);
  type.dims = dims;
  return h.builder.add1(h, reshape_op, {{x}}, {}, {std::move(type)});
}

}  // namespace ops
