// sqrt: y = x^(1/2), elementwise, correctly rounded.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Sqrt {
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return std::sqrt(x);
  }
};

Values grad(Builder& b, ValuesIn, ValuesIn out, ValuesIn dy, const graph::Attrs&) {
  // dy / (2 y)
  return {div(b, mul(b, dy[0], 0.5), out[0])};
}

constexpr graph::Sample samples[] = {{"f32[37] in 0.1..9", 1e-7},
                                     {"f32[u0,5] in 0.1..9", 1e-7},
                                     {"f32[0,3] in 0.1..9"},
                                     {"f32[] in 0.1..9", 1e-7}};

}  // namespace

extern const graph::OpDef sqrt_op{.name = "sqrt",
                                  .about = "square root",
                                  .infer = infer_unary_float,
                                  .grad = grad,
                                  .eval = unary_kernels<Sqrt>(),
                                  .cost = elementwise_cost<4>,
                                  .samples = samples};

Value sqrt(Here h, Value x) { return h.builder.add1(h, sqrt_op, {{x}}); }

}  // namespace ops
