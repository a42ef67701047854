// silu_grad: the gradient of silu(x) = x s, s = sigmoid(x): dx = dy s (1 + x (1 - s)), elementwise.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct SiluGrad {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T dy, T x) const {
    const T s = T(1) / (T(1) + exp_lane(-x));
    return dy * (s * (T(1) + x * (T(1) - s)));
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  // Second derivative of silu: s (1 - s) (2 + x (1 - 2 s)).
  const Value x = in[1], s = sigmoid(b, x);
  const Value slope = sub(b, s, mul(b, s, s));
  const Value bend = add(b, mul(b, x, add(b, mul(b, s, -2.0), 1.0)), 2.0);
  return {silu_grad(b, dy[0], x), mul(b, dy[0], mul(b, in[0], mul(b, slope, bend)))};
}

constexpr graph::Sample samples[] = {{"f32[37], f32[37]", 1e-6},
                                     {"f32[u0,5], f32[u0,5]", 1e-6},
                                     {"f32[0,3], f32[0,3]"},
                                     {"f32[], f32[]", 1e-6},
                                     {"f32[1,1], f32[1,1]", 1e-6}};

}  // namespace

extern const graph::OpDef silu_grad_op{.name = "silu_grad",
                                       .about = "dy * derivative of x * sigmoid(x)",
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .infer = infer_binary_float,
                                       .grad = grad,
                                       .eval = binary_kernels<SiluGrad>(),
                                       .cost = elementwise_cost<26>,
                                       .samples = samples};

Value silu_grad(Here h, Value dy, Value x) {
  return h.builder.add1(h, silu_grad_op, broadcast_together(h, {{dy, x}}));
}

}  // namespace ops
