// max: the greater of a and b, elementwise; NaN if either is. Of integers too.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Maximum {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  // Where both are equal the first operand takes the whole gradient: one of the subgradients.
  const Value first = compare(b, in[0], in[1], Order::greater_equal);
  const Value zero = zeros_like(b, dy[0]);
  return {select(b, first, dy[0], zero), select(b, first, zero, dy[0])};
}

constexpr graph::Sample samples[] = {{"f32[37], f32[37]"},
                                     {"f32[u0,5], f32[u0,5]"},
                                     {"f32[0,3], f32[0,3]"},
                                     {"f32[], f32[]"},
                                     {"f32[1,1], f32[1,1]"},
                                     {"i64[3,2] below 9, i64[3,2] below 9"},
                                     {"i32[4] below 9, i32[4] below 9"}};

}  // namespace

extern const graph::OpDef max_op{.name = "max",
                                 .about = "the greater of a and b; NaN if either is",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_binary_number,
                                 .grad = grad,
                                 .eval = binary_kernels<Maximum, Dtypes::numbers>(),
                                 .cost = elementwise_cost<1>,
                                 .samples = samples};

Value max(Here h, Value a, Value b) {
  return h.builder.add1(h, max_op, broadcast_together(h, {{a, b}}));
}

}  // namespace ops
