// div: y = a / b, elementwise, IEEE at zero and infinity.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Divide {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    return a / b;
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn out, ValuesIn dy, const graph::Attrs&) {
  // da = dy / b, db = -y da
  const Value da = div(b, dy[0], in[1]);
  return {da, neg(b, mul(b, da, out[0]))};
}

constexpr graph::Sample samples[] = {{"f32[37], f32[37] in 0.5..2", 2e-7},
                                     {"f32[u0,5], f32[u0,5] in 0.5..2", 2e-7},
                                     {"f32[0,3], f32[0,3] in 0.5..2"},
                                     {"f32[], f32[] in 0.5..2", 2e-7},
                                     {"f32[1,1], f32[1,1] in 0.5..2", 2e-7}};

}  // namespace

extern const graph::OpDef div_op{.name = "div",
                                 .about = "a / b",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_binary_float,
                                 .grad = grad,
                                 .eval = binary_kernels<Divide>(),
                                 .cost = elementwise_cost<4>,
                                 .samples = samples};

Value div(Here h, Value a, Value b) {
  return h.builder.add1(h, div_op, broadcast_together(h, {{a, b}}));
}

}  // namespace ops
