// sigmoid: y = 1 / (1 + e^-x), elementwise; 0 and 1 exactly where e^-x leaves the range.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Sigmoid {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return T(1) / (T(1) + exp_lane(-x));
  }
};

Values grad(Builder& b, ValuesIn, ValuesIn out, ValuesIn dy, const graph::Attrs&) {
  // y (1 - y) dy
  const Value y = out[0];
  return {mul(b, dy[0], sub(b, y, mul(b, y, y)))};
}

constexpr graph::Sample samples[] = {
    {"f32[37]", 4e-7}, {"f32[u0,5]", 4e-7}, {"f32[0,3]"}, {"f32[]", 4e-7}};

}  // namespace

extern const graph::OpDef sigmoid_op{.name = "sigmoid",
                                     .about = "1 / (1 + e^-x)",
                                     .infer = infer_unary_float,
                                     .grad = grad,
                                     .eval = unary_kernels<Sigmoid>(),
                                     .cost = elementwise_cost<20>,
                                     .samples = samples};

Value sigmoid(Here h, Value x) { return h.builder.add1(h, sigmoid_op, {{x}}); }

}  // namespace ops
