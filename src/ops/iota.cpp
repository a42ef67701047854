// iota: the index along one dim, i64; the other dims view the same numbers.
#include "ops/core/elementwise.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn, const Attrs& attrs) {
  const graph::Type& type = s.given_type();
  s.need_dtype(type, graph::DType::i64, "result");
  need_sizes(s, type);
  s.need_dim(type, attrs.integer("dim"));
  return {type};
}

void eval(const EvalContext& context, TensorsIn, TensorsOut out, const Attrs& attrs) {
  const host::Shape& shape = context.shapes[0];
  const int64_t dim = attrs.integer("dim");
  const size_t d = dim < 0 ? dim + shape.size() : dim;
  const Tensor numbers = Tensor::make(graph::DType::i64, {shape[d]}, context.account);
  for (int64_t i = 0; i < shape[d]; ++i) numbers.data<int64_t>()[i] = i;
  host::Shape strides(shape.size(), 0);
  strides[d] = 1;
  out[0] = numbers.view(shape, strides, 0);
}

constexpr graph::AttrSpec attrs[] = {{"dim", graph::AttrSpec::Kind::integer}};

constexpr graph::Sample samples[] = {{" | dim=0 | i64[7]"},
                                     {" | dim=1 | i64[3,4]"},
                                     {" | dim=-2 | i64[3,4]"},
                                     {" | dim=0 | i64[0,4]"},
                                     {" | dim=0 | i64[1]"}};

}  // namespace

extern const graph::OpDef iota_op{.name = "iota",
                                  .about = "index along dim",
                                  .min_inputs = 0,
                                  .max_inputs = 0,
                                  .attrs = attrs,
                                  .type_is_attribute = true,
                                  .infer = infer,
                                  .eval = {eval, eval},
                                  .cost = copy_cost,
                                  .samples = samples};

Value iota(Here h, Type type, int64_t dim) {
  return h.builder.add1(h, iota_op, {}, {{"dim", dim}}, {std::move(type)});
}

}  // namespace ops
