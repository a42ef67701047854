// matmul: c[.., M, N] = a[.., M, K] b[.., K, N]; a flag exchanges the last two dims of an operand.
// Batch dims lead and are equal. Accumulates in the dtype of the operands, along K in the library's
// order (host/gemm.h). With K = 0 the result is 0.
#include "ops/core/elementwise.h"
#include "ops/core/products.h"
#include "ops/core/tiny_products.h"
#include "ops/ops.h"

namespace ops {
namespace {

struct Dims {
  Expr rows, inner, columns;
};

Dims dims_of(const graph::Type& a, const graph::Type& b, const Attrs& attrs) {
  const size_t r = a.dims.size();
  const bool ta = attrs.flag("transpose_a"), tb = attrs.flag("transpose_b");
  return {a.dims[ta ? r - 1 : r - 2], a.dims[ta ? r - 2 : r - 1], b.dims[tb ? r - 2 : r - 1]};
}

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_float(in[0], "lhs");
  s.need_same_dtype(in[0], in[1]);
  const size_t r = in[0].dims.size();
  if (r < 2 || in[1].dims.size() != r) {
    s.refuse("operands must both have 2 dims or more, found {} and {}", s.text(in[0]),
             s.text(in[1]));
  }
  for (size_t d = 0; d + 2 < r; ++d) {
    s.require_equal(in[0].dims[d], in[1].dims[d], "batch dims are equal");
  }
  const Dims d = dims_of(in[0], in[1], attrs);
  const Expr other = in[1].dims[attrs.flag("transpose_b") ? r - 1 : r - 2];
  s.require_equal(d.inner, other, "inner sizes are equal");
  graph::Type out = in[0];
  out.dims[r - 2] = d.rows;
  out.dims[r - 1] = d.columns;
  return {out};
}

// With A and B as they stand after the flags: dA = dC B^T and dB = A^T dC, each transposed once
// more where the operand was.
Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs& attrs) {
  const bool ta = attrs.flag("transpose_a"), tb = attrs.flag("transpose_b");
  const Value da = ta ? matmul(b, in[1], dy[0], {.a = tb, .b = true})
                      : matmul(b, dy[0], in[1], {.a = false, .b = !tb});
  const Value db = tb ? matmul(b, dy[0], in[0], {.a = true, .b = ta})
                      : matmul(b, in[0], dy[0], {.a = !ta, .b = false});
  return {da, db};
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs& attrs) {
  out[0] = context.make(0);
  const Tensor a = attrs.flag("transpose_a") ? host::transposed(in[0]) : in[0];
  const Tensor b = attrs.flag("transpose_b") ? host::transposed(in[1]) : in[1];
  if (multiply_tiny<T>(context, a, b, out[0])) return;
  host::matmul(context.pool, a, b, out[0]);
}

graph::Cost cost(TypesIn in, TypesIn out, const Attrs& attrs) {
  std::vector<Expr> factors = out[0].dims;
  factors.push_back(dims_of(in[0], in[1], attrs).inner);
  return product_cost(factors, in, out);
}

constexpr graph::AttrSpec attrs[] = {{"transpose_a", graph::AttrSpec::Kind::flag, false},
                                     {"transpose_b", graph::AttrSpec::Kind::flag, false}};

// K roundings of products and sums at random signs: sqrt(K) half ulps of the sum of magnitudes.
constexpr graph::Sample samples[] = {
    {"f32[5,7], f32[7,3]", 1e-6},
    {"f32[5,7], f32[3,7] | transpose_b", 1e-6},
    {"f32[7,5], f32[7,3] | transpose_a", 1e-6},
    {"f32[7,5], f32[3,7] | transpose_a, transpose_b", 1e-6},
    {"f32[u0,9], f32[4,9] | transpose_b", 1e-6},
    {"f32[u0,4], f32[u0,3] | transpose_a", 2e-6},
    {"f32[2,3,5,4], f32[2,3,4,2]", 1e-6},
    {"f32[3,130,3], f32[3,3,6]", 1e-6},
    {"f32[9,1,3], f32[9,3,5]", 1e-6},
    {"f32[u0,1,3], f32[u0,3,5]", 1e-6},
    {"f32[9,1,5], f32[9,3,5] | transpose_b", 1e-6},
    {"f32[9,1,3], f32[9,1,5] | transpose_a", 1e-6},
    {"f32[9,3,1], f32[9,5,3] | transpose_a, transpose_b", 1e-6},
    {"f32[3,0], f32[0,2]"},
    {"f32[0,4], f32[4,2]"},
    {"f32[12,2,0], f32[12,0,2]"},
    {"f32[1,1], f32[1,1]", 1e-6},
    {.problem = "f32[256,256], f32[2048,256] | transpose_b", .bench = true},
    {.problem = "f32[96,256], f32[256,256] | transpose_b", .bench = true},
    {.problem = "f32[96,256], f32[96,256] | transpose_a", .bench = true},
    {.problem = "f32[256,1,3], f32[256,3,256]", .bench = true},
    {.problem = "f32[256,1,256], f32[256,3,256] | transpose_b", .bench = true},
    {.problem = "f32[256,1,3], f32[256,1,256] | transpose_a", .bench = true},
};

}  // namespace

extern const graph::OpDef matmul_op{.name = "matmul",
                                    .about = "matrix product of the last two dims",
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .attrs = attrs,
                                    .infer = infer,
                                    .grad = grad,
                                    .eval = {eval<float>, eval<double>},
                                    .cost = cost,
                                    .samples = samples};

Value matmul(Here h, Value a, Value b, Transpose transpose) {
  return h.builder.add1(h, matmul_op, {{a, b}},
                        {{"transpose_a", transpose.a}, {"transpose_b", transpose.b}});
}

}  // namespace ops
