// neg: y = -x, elementwise; of integers too.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Negate {
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return -x;
  }
};

Values grad(Builder& b, ValuesIn, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {neg(b, dy[0])};
}

constexpr graph::Sample samples[] = {{"f32[7]"},         {"f32[u0,5]"}, {"i64[3,2] below 9"},
                                     {"i32[4] below 9"}, {"f32[0]"},    {"f32[]"}};

}  // namespace

extern const graph::OpDef neg_op{.name = "neg",
                                 .about = "-x",
                                 .infer = infer_unary_number,
                                 .grad = grad,
                                 .eval = unary_kernels<Negate, Dtypes::numbers>(),
                                 .cost = elementwise_cost<1>,
                                 .samples = samples};

Value neg(Here h, Value x) { return h.builder.add1(h, neg_op, {{x}}); }

}  // namespace ops
