// grouped_matmul: rows [off[e], off[e + 1]) of x times matrix e of w, for each e. With transpose_b
// matrix e is used transposed. Rows from the last offset on are zeros. Groups run one after another
// in the order of e, each as one product of host/gemm.h; an empty group does nothing.
#include "host/gemm.h"
#include "ops/core/elementwise.h"
#include "ops/core/products.h"
#include "ops/ops.h"

namespace ops {
namespace {

bool transposed(const Attrs& attrs) { return attrs.flag("transpose_b"); }

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_float(in[0], "x");
  s.need_same_dtype(in[0], in[1]);
  s.need_rank(in[0], 2, "x");
  s.need_rank(in[1], 3, "w");
  s.need_dtype(in[2], DType::i64, "offsets");
  s.need_rank(in[2], 1, "offsets");
  s.require_equal(in[2].dims[0], in[1].dims[0] + 1, "there is one offset more than matrices");
  const size_t inner = transposed(attrs) ? 2 : 1;
  s.require_equal(in[0].dims[1], in[1].dims[inner], "inner sizes are equal");
  graph::Type out = in[0];
  out.dims[1] = in[1].dims[3 - inner];
  return {out};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const Value dx = grouped_matmul(b, dy[0], in[1], in[2], {.b = !transposed(attrs)});
  const Value dw = transposed(attrs) ? grouped_matmul_weight(b, dy[0], in[0], in[2])
                                     : grouped_matmul_weight(b, in[0], dy[0], in[2]);
  return {dx, dw, {}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const Tensor& x = in[0];
  const Tensor w = transposed(attrs) ? host::transposed(in[1]) : in[1];
  const std::vector<int64_t> at = checked_offsets(in[2], x.dim(0), "grouped_matmul");
  for (size_t e = 0; e + 1 < at.size(); ++e) {
    host::matmul(context.pool, rows_of(x, at[e], at[e + 1]), matrix_of(w, e),
                 rows_of(out[0], at[e], at[e + 1]));
  }
  fill_rows_with_zeros(out[0], at.back(), x.dim(0));
}

graph::Cost cost(TypesIn in, TypesIn out, const Attrs&) {
  const Expr factors[] = {in[0].dims[0], in[0].dims[1], out[0].dims[1]};
  return product_cost(factors, in, out);
}

constexpr graph::AttrSpec attrs[] = {{"transpose_b", graph::AttrSpec::Kind::flag, false}};

constexpr graph::Sample samples[] = {
    {"f32[9,4], f32[3,4,5], i64[4] offsets of 9", 1e-6},
    {"f32[9,4], f32[3,5,4], i64[4] offsets of 7 | transpose_b", 1e-6},
    {"f32[u0,4], f32[3,4,5], i64[4] offsets of u0", 2e-6},
    {"f32[u0,4], f32[u1,4,2], i64[u1 + 1] offsets of 0"},
    {"f32[0,4], f32[2,4,5], i64[3] offsets of 0"},
    {"f32[3,0], f32[2,0,5], i64[3] offsets of 3"},
    {"f32[1,1], f32[1,1,1], i64[2] offsets of 1", 1e-6},
    {.problem = "f32[768,256], f32[8,256,256], i64[9] offsets of 768 | transpose_b", .bench = true},
};

}  // namespace

extern const graph::OpDef grouped_matmul_op{
    .name = "grouped_matmul",
    .about = "rows [off[e], off[e+1]) of x times matrix e; rows past the last offset are 0",
    .min_inputs = 3,
    .max_inputs = 3,
    .attrs = attrs,
    .may_fail = true,
    .infer = infer,
    .grad = grad,
    .eval = {eval, eval},
    .cost = cost,
    .samples = samples};

Value grouped_matmul(Here h, Value x_RK, Value w_EKN, Value off_E1, Transpose transpose) {
  if (transpose.a) base::fail_internal("grouped_matmul: rows cannot be transposed");
  return h.builder.add1(h, grouped_matmul_op, {{x_RK, w_EKN, off_E1}},
                        {{"transpose_b", transpose.b}});
}

}  // namespace ops
