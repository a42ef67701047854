// rsqrt: y = 1 / sqrt(x), elementwise: two correctly rounded operations, no estimate instruction.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Rsqrt {
  static constexpr int weight = 2;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};

Values grad(Builder& b, ValuesIn, ValuesIn out, ValuesIn dy, const graph::Attrs&) {
  // -y^3 dy / 2
  const Value y = out[0];
  return {mul(b, mul(b, dy[0], mul(b, y, mul(b, y, y))), -0.5)};
}

constexpr graph::Sample samples[] = {{"f32[37] in 0.1..9", 2e-7},
                                     {"f32[u0,5] in 0.1..9", 2e-7},
                                     {"f32[0,3] in 0.1..9"},
                                     {"f32[] in 0.1..9", 2e-7}};

}  // namespace

extern const graph::OpDef rsqrt_op{.name = "rsqrt",
                                   .about = "1 / square root",
                                   .infer = infer_unary_float,
                                   .grad = grad,
                                   .eval = unary_kernels<Rsqrt>(),
                                   .cost = elementwise_cost<8>,
                                   .samples = samples};

Value rsqrt(Here h, Value x) { return h.builder.add1(h, rsqrt_op, {{x}}); }

}  // namespace ops
