// cos: elementwise, in radians. Range, polynomial and error bound: ops/core/lane_math.h.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Cos {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return cos_lane(x);
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {neg(b, mul(b, dy[0], sin(b, in[0])))};
}

constexpr graph::Sample samples[] = {
    {"f32[37]", 3e-7}, {"f32[u0,5]", 3e-7}, {"f32[0,3]"}, {"f32[]", 3e-7}};

}  // namespace

extern const graph::OpDef cos_op{.name = "cos",
                                 .about = "cosine, in radians",
                                 .infer = infer_unary_float,
                                 .grad = grad,
                                 .eval = unary_kernels<Cos>(),
                                 .cost = elementwise_cost<20>,
                                 .samples = samples};

Value cos(Here h, Value x) { return h.builder.add1(h, cos_op, {{x}}); }

}  // namespace ops
