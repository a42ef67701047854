// scatter_rows: y[rows[i]] = x[i], the other rows 0. No row may be named twice: a check.
#include <cstring>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/scatter.h"
#include "ops/ops.h"

namespace ops {
namespace {

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  return {gather_rows(b, dy[0], in[1]), {}};
}

// For each row of the result, the row of x that it takes, or -1.
std::vector<int64_t> invert(const Tensor& rows, int64_t count) {
  std::vector<int64_t> source(count, -1);
  const int64_t* row = rows.data<int64_t>();
  for (int64_t i = 0; i < rows.count(); ++i) {
    int64_t& from = source[row[i]];
    if (from >= 0) fail_check("scatter_rows: row {} is written by {} and by {}", row[i], from, i);
    from = i;
  }
  return source;
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const Tensor x = with_packed_rows(context, in[0]);
  const int64_t count = out[0].dim(0);
  const std::vector<int64_t> source = invert(checked_indices(in[1], count, "scatter_rows"), count);
  const int64_t width = base::byte_size(x.dtype());
  const int64_t bytes = row_elements(x) * width;
  const int64_t stride = x.strides()[0] * width;
  context.pool.parallel_for(count, grain_of(bytes), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      std::byte* to = out[0].raw() + r * bytes;
      if (source[r] < 0) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, x.raw() + source[r] * stride, bytes);
      }
    }
  });
}

constexpr graph::Sample samples[] = {
    {"f32[4,3], i64[4] distinct below 7 | rows=7"},
    {"f32[u0,3], i64[u0] distinct below u0 | rows=u0"},
    {"f32[u0,2], i64[u0] distinct below u0 + 2 | rows=u0 + 2"},
    {"f32[0,3], i64[0] | rows=2"},
    {"f32[0,3], i64[0] | rows=0"},
    {"f32[5], i64[5] distinct below 5 | rows=5"},
    {"f32[1,1], i64[1] below 1 | rows=1"},
    {"i64[3,2], i64[3] distinct below 4 | rows=4"},
    {"f32[3,2,2], i64[3] distinct below 4 | rows=4"},
    {.problem = "f32[6144,256], i64[6144] distinct below 6144 | rows=6144", .bench = true}};

}  // namespace

extern const graph::OpDef scatter_rows_op{.name = "scatter_rows",
                                          .about = "y[rows[i]] = x[i], the other rows 0",
                                          .min_inputs = 2,
                                          .max_inputs = 2,
                                          .attrs = scatter_rows_attrs,
                                          .may_fail = true,
                                          .infer = infer_scatter_rows,
                                          .grad = grad,
                                          .eval = {eval, eval},
                                          .cost = copy_cost,
                                          .samples = samples};

Value scatter_rows(Here h, Value x_ND, Value rows_N, const Expr& rows) {
  return h.builder.add1(h, scatter_rows_op, {{x_ND, rows_N}}, {{"rows", rows}});
}

}  // namespace ops
