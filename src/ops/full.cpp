// full: a tensor of one number; one element that every place of it views.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn, const Attrs&) {
  need_sizes(s, s.given_type());
  return {s.given_type()};
}

void eval(const EvalContext& context, TensorsIn, TensorsOut out, const Attrs& attrs) {
  out[0] = filled(context, context.dtypes[0], context.shapes[0], attrs.number("value"));
}

constexpr graph::AttrSpec attrs[] = {{"value", graph::AttrSpec::Kind::number}};

constexpr graph::Sample samples[] = {{" | value=0.5 | f32[3,4]"},
                                     {" | value=-7 | i64[5]"},
                                     {" | value=1 | f32[0,2]"},
                                     {" | value=1 | bool[2]"},
                                     {" | value=1e-5 | f32[]", 6e-8}};

}  // namespace

extern const graph::OpDef full_op{.name = "full",
                                  .about = "one number everywhere",
                                  .min_inputs = 0,
                                  .max_inputs = 0,
                                  .attrs = attrs,
                                  .type_is_attribute = true,
                                  .infer = infer,
                                  .eval = {eval, eval},
                                  .cost = view_cost,
                                  .samples = samples};

Value full(Here h, Type type, double value) {
  return h.builder.add1(h, full_op, {}, {{"value", value}}, {std::move(type)});
}

}  // namespace ops
