// detach: x, cut off from the backward: its gradient is none.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes&, TypesIn in, const Attrs&) { return {in[0]}; }

void eval(const EvalContext&, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = std::move(in[0]);
}

constexpr graph::Sample samples[] = {{"f32[u0,3]"}, {"i64[4]"}, {"f32[0]"}, {"f32[]"}};

}  // namespace

extern const graph::OpDef detach_op{.name = "detach",
                                    .about = "x, without gradient",
                                    .infer = infer,
                                    .eval = {eval, eval},
                                    .cost = view_cost,
                                    .samples = samples};

Value detach(Here h, Value x) { return h.builder.add1(h, detach_op, {{x}}); }

}  // namespace ops
