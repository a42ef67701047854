// grouped_matmul_weight: dw[e] = x[rows of e]^T y[rows of e], the rows of e being
// [off[e], off[e + 1]); zeros where e has no rows. Rows from the last offset on count nowhere. The
// weight gradient of grouped_matmul; groups in the order of e.
#include "host/gemm.h"
#include "ops/core/elementwise.h"
#include "ops/core/products.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  s.need_float(in[0], "x");
  s.need_same_dtype(in[0], in[1]);
  s.need_rank(in[0], 2, "x");
  s.need_rank(in[1], 2, "y");
  s.need_dtype(in[2], DType::i64, "offsets");
  s.need_rank(in[2], 1, "offsets");
  s.require_equal(in[0].dims[0], in[1].dims[0], "x and y have the same rows");
  const Expr groups = in[2].dims[0] - 1;
  s.require({groups, Fact::Relation::at_least, 0}, "there is at least one offset");
  return {{in[0].dtype, {groups, in[0].dims[1], in[1].dims[1]}, {}}};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  return {grouped_matmul(b, in[1], dy[0], in[2], {.b = true}),
          grouped_matmul(b, in[0], dy[0], in[2]),
          {}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const std::vector<int64_t> at = checked_offsets(in[2], in[0].dim(0), "grouped_matmul_weight");
  for (size_t e = 0; e + 1 < at.size(); ++e) {
    host::matmul(context.pool, host::transposed(rows_of(in[0], at[e], at[e + 1])),
                 rows_of(in[1], at[e], at[e + 1]), matrix_of(out[0], e));
  }
}

graph::Cost cost(TypesIn in, TypesIn out, const Attrs&) {
  const Expr factors[] = {in[0].dims[0], in[0].dims[1], in[1].dims[1]};
  return product_cost(factors, in, out);
}

constexpr graph::Sample samples[] = {
    {"f32[9,4], f32[9,5], i64[4] offsets of 9", 1e-6},
    {"f32[9,4], f32[9,5], i64[4] offsets of 7", 1e-6},
    {"f32[u0,4], f32[u0,3], i64[4] offsets of u0", 2e-6},
    {"f32[0,4], f32[0,5], i64[3] offsets of 0"},
    {"f32[5,2], f32[5,3], i64[u0 + 1] offsets of 0"},
    {"f32[1,1], f32[1,1], i64[2] offsets of 1", 1e-6},
    {.problem = "f32[768,256], f32[768,256], i64[9] offsets of 768", .bench = true},
};

}  // namespace

extern const graph::OpDef grouped_matmul_weight_op{
    .name = "grouped_matmul_weight",
    .about = "for each e: rows of x transposed times rows of y",
    .min_inputs = 3,
    .max_inputs = 3,
    .may_fail = true,
    .infer = infer,
    .grad = grad,
    .eval = {eval, eval},
    .cost = cost,
    .samples = samples};

Value grouped_matmul_weight(Here h, Value x_RK, Value y_RN, Value off_E1) {
  return h.builder.add1(h, grouped_matmul_weight_op, {{x_RK, y_RN, off_E1}});
}

}  // namespace ops
