// zeros: a tensor of zeros; one element that every place of it views.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn, const Attrs&) {
  need_sizes(s, s.given_type());
  return {s.given_type()};
}

void eval(const EvalContext& context, TensorsIn, TensorsOut out, const Attrs&) {
  out[0] = filled(context, context.dtypes[0], context.shapes[0], 0.0);
}

constexpr graph::Sample samples[] = {
    {" | | f32[3,4]"}, {" | | i64[5]"}, {" | | f32[0,2]"}, {" | | bool[]"}, {" | | bf16[2]"}};

}  // namespace

extern const graph::OpDef zeros_op{.name = "zeros",
                                   .about = "zeros",
                                   .min_inputs = 0,
                                   .max_inputs = 0,
                                   .type_is_attribute = true,
                                   .infer = infer,
                                   .eval = {eval, eval},
                                   .cost = view_cost,
                                   .samples = samples};

Value zeros(Here h, Type type) { return h.builder.add1(h, zeros_op, {}, {}, {std::move(type)}); }

}  // namespace ops
