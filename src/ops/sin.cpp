// sin: elementwise, in radians. Range, polynomial and error bound: ops/core/lane_math.h.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Sin {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return sin_lane(x);
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {mul(b, dy[0], cos(b, in[0]))};
}

constexpr graph::Sample samples[] = {
    {"f32[37]", 3e-7}, {"f32[u0,5]", 3e-7}, {"f32[0,3]"}, {"f32[]", 3e-7}};

}  // namespace

extern const graph::OpDef sin_op{.name = "sin",
                                 .about = "sine, in radians",
                                 .infer = infer_unary_float,
                                 .grad = grad,
                                 .eval = unary_kernels<Sin>(),
                                 .cost = elementwise_cost<20>,
                                 .samples = samples};

Value sin(Here h, Value x) { return h.builder.add1(h, sin_op, {{x}}); }

}  // namespace ops
