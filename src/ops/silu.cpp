// silu: y = x * sigmoid(x), elementwise. Hendrycks and Gimpel, arXiv 1606.08415, there also named
// SiLU.
#include "ops/core/elementwise.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Silu {
  static constexpr int weight = 4;
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return x / (T(1) + exp_lane(-x));
  }
};

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const graph::Attrs&) {
  return {silu_grad(b, dy[0], in[0])};
}

constexpr graph::Sample samples[] = {{"f32[7]", 4e-7}, {"f32[u0,33]", 4e-7}, {"f32[0,4]"}};

}  // namespace

extern const graph::OpDef silu_op{.name = "silu",
                                  .about = "x * sigmoid(x)",
                                  .infer = infer_unary_float,
                                  .grad = grad,
                                  .eval = unary_kernels<Silu>(),
                                  .cost = elementwise_cost<10>,
                                  .samples = samples};

Value silu(Here h, Value x) { return h.builder.add1(h, silu_op, {{x}}); }

}  // namespace ops
