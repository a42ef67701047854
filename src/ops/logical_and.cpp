// logical_and: a and b, elementwise, of bool tensors.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct And {
  [[gnu::always_inline]] uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_dtype(in[0], graph::DType::boolean, "first operand");
  s.need_dtype(in[1], graph::DType::boolean, "second operand");
  need_same_dims(s, in[0], in[1]);
  return {in[0]};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  static constexpr StripKernel kernel = strip_kernel<And, uint8_t, uint8_t, uint8_t>();
  run_strips(context, kernel, in, out[0]);
}

constexpr graph::Sample samples[] = {
    {"bool[37], bool[37]"}, {"bool[u0,3], bool[u0,3]"}, {"bool[], bool[]"}, {"bool[0], bool[0]"}};

}  // namespace

extern const graph::OpDef logical_and_op{.name = "logical_and",
                                         .about = "a and b",
                                         .min_inputs = 2,
                                         .max_inputs = 2,
                                         .infer = infer,
                                         .eval = {eval, eval},
                                         .cost = elementwise_cost<1>,
                                         .samples = samples};

Value logical_and(Here h, Value a, Value b) {
  return h.builder.add1(h, logical_and_op, broadcast_together(h, {{a, b}}));
}

}  // namespace ops
