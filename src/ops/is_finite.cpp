// is_finite: neither infinite nor NaN, elementwise, bool.
#include <limits>

#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct IsFinite {
  template <class T>
  [[gnu::always_inline]] uint8_t operator()(T x) const {
    return std::fabs(x) <= std::numeric_limits<T>::max();
  }
};

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_float(in[0], "operand");
  return {{graph::DType::boolean, in[0].dims, in[0].placements}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  static constexpr DTypeKernels kernels{.f32 = strip_kernel<IsFinite, uint8_t, float>(),
                                        .f64 = strip_kernel<IsFinite, uint8_t, double>()};
  run_by_dtype(context, kernels, in, out[0]);
}

constexpr graph::Sample samples[] = {{"f32[37]"}, {"f32[u0,5]"}, {"f32[0,3]"}, {"f32[]"}};

}  // namespace

extern const graph::OpDef is_finite_op{.name = "is_finite",
                                       .about = "neither infinite nor NaN",
                                       .infer = infer,
                                       .eval = {eval, eval},
                                       .cost = elementwise_cost<1>,
                                       .samples = samples};

Value is_finite(Here h, Value x) { return h.builder.add1(h, is_finite_op, {{x}}); }

}  // namespace ops
