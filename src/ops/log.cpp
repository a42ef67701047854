// log: y = ln(x), elementwise; -inf at 0, NaN below. Polynomial and error bound:
// ops/core/lane_math.h.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Log {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return log_lane(x);
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {div(b, dy[0], in[0])};
}

constexpr graph::Sample samples[] = {{"f32[37] in 0.1..9", 2e-7},
                                     {"f32[u0,5] in 0.1..9", 2e-7},
                                     {"f32[0,3] in 0.1..9"},
                                     {"f32[] in 0.1..9", 2e-7}};

}  // namespace

extern const graph::OpDef log_op{.name = "log",
                                 .about = "ln(x)",
                                 .infer = infer_unary_float,
                                 .grad = grad,
                                 .eval = unary_kernels<Log>(),
                                 .cost = elementwise_cost<16>,
                                 .samples = samples};

Value log(Here h, Value x) { return h.builder.add1(h, log_op, {{x}}); }

}  // namespace ops
