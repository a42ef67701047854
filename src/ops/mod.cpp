// mod: x - by * floor(x / by), in [0, by), of integers; `by` is a size expression, at least 1.
#include <utility>

#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Mod {
  static constexpr int weight = 16;
  [[gnu::always_inline]] int64_t operator()(int64_t x, int64_t by) const {
    const int64_t rest = x % by;
    return rest < 0 ? rest + by : rest;
  }
};

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_dtype(in[0], graph::DType::i64, "operand");
  s.require({attrs.dim("by"), Fact::Relation::at_least, 1}, "the divisor is at least 1");
  return {in[0]};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  static constexpr StripKernel kernel = strip_kernel<Mod, int64_t, int64_t, int64_t>();
  const Tensor by = Tensor::make(graph::DType::i64, {}, context.account);
  *by.data<int64_t>() = context.number(attrs.dim("by"));
  Tensor operands[] = {std::move(in[0]), everywhere(by, context.shapes[0])};
  run_strips(context, kernel, operands, out[0]);
}

constexpr graph::AttrSpec attrs[] = {{"by", graph::AttrSpec::Kind::dim}};

constexpr graph::Sample samples[] = {{"i64[37] below 90 | by=7"},
                                     {"i64[u0] below 90 | by=u0 + 1"},
                                     {"i64[4,3] below 90 | by=1"},
                                     {"i64[0] | by=3"},
                                     {"i64[] below 90 | by=4"}};

}  // namespace

extern const graph::OpDef mod_op{.name = "mod",
                                 .about = "x - by * floor(x / by)",
                                 .attrs = attrs,
                                 .infer = infer,
                                 .eval = {eval, eval},
                                 .cost = elementwise_cost<1>,
                                 .samples = samples};

Value mod(Here h, Value x, const Expr& by) {
  return h.builder.add1(h, mod_op, {{x}}, {{"by", by}});
}

}  // namespace ops
