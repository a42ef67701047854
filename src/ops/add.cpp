// add: y = a + b, elementwise; of integers too.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Add {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    return a + b;
  }
};

Values grad(Builder&, ValuesIn, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {dy[0], dy[0]};
}

constexpr graph::Sample samples[] = {{"f32[37], f32[37]", 2e-7},
                                     {"f32[u0,5], f32[u0,5]", 2e-7},
                                     {"f32[0,3], f32[0,3]"},
                                     {"f32[], f32[]", 2e-7},
                                     {"f32[1,1], f32[1,1]", 2e-7},
                                     {"i64[3,2] below 9, i64[3,2] below 9"},
                                     {"i32[4] below 9, i32[4] below 9"}};

}  // namespace

extern const graph::OpDef add_op{.name = "add",
                                 .about = "a + b",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_binary_number,
                                 .grad = grad,
                                 .eval = binary_kernels<Add, Dtypes::numbers>(),
                                 .cost = elementwise_cost<1>,
                                 .samples = samples};

Value add(Here h, Value a, Value b) {
  return h.builder.add1(h, add_op, broadcast_together(h, {{a, b}}));
}

}  // namespace ops
