// exp: y = e^x, elementwise. The polynomial and its error bound are in ops/core/lane_math.h.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Exp {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return exp_lane(x);
  }
};

Values grad(Builder& b, ValuesIn, ValuesIn out, ValuesIn dy, const graph::Attrs&) {
  return {mul(b, dy[0], out[0])};
}

constexpr graph::Sample samples[] =
    {  // 1.1 ulp of each kernel, and the rounding of the float operand is common to both.
        {"f32[37]", 2e-7},
        {"f32[u0,5]", 2e-7},
        {"f32[0,3]"},
        {"f32[]", 2e-7},
        {"f32[1,1]", 2e-7}};

}  // namespace

extern const graph::OpDef exp_op{.name = "exp",
                                 .about = "e^x",
                                 .infer = infer_unary_float,
                                 .grad = grad,
                                 .eval = unary_kernels<Exp>(),
                                 .cost = elementwise_cost<16>,
                                 .samples = samples};

Value exp(Here h, Value x) { return h.builder.add1(h, exp_op, {{x}}); }

}  // namespace ops
