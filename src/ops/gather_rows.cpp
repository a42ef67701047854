// gather_rows: y[i] = table[rows[i]]. Rows of any rank; an embedding is one.
#include <cstring>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  if (in[0].dims.empty()) s.refuse("table must have rows, found {}", s.text(in[0]));
  need_indices(s, in[1], "rows");
  s.need_rank(in[1], 1, "rows");
  graph::Type out = in[0];
  out.dims[0] = in[1].dims[0];
  return {out};
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  return {scatter_add_rows(b, dy[0], in[1], b.dim(in[0], 0)), {}};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const Tensor table = with_packed_rows(context, in[0]);
  const Tensor rows = checked_indices(in[1], table.dim(0), "gather_rows");
  const int64_t width = base::byte_size(table.dtype());
  const int64_t bytes = row_elements(table) * width;
  const int64_t stride = table.strides()[0] * width;
  const int64_t* row = rows.data<int64_t>();
  context.pool.parallel_for(rows.count(), grain_of(bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(out[0].raw() + i * bytes, table.raw() + row[i] * stride, bytes);
    }
  });
}

constexpr graph::Sample samples[] = {
    {"f32[6,4], i64[9] below 6"},
    {"f32[6,4], i64[u0] below 6"},
    {"f32[u0 + 1,3], i64[u1] below 1"},
    {"f32[5,2,3], i64[4] below 5"},
    {"f32[6], i64[3] below 6"},
    {"f32[0,4], i64[0] below 1"},
    {"f32[1,1], i64[1] below 1"},
    {"i64[7,2], i64[4] below 7"},
    {"bf16[7,3], i64[4] below 7"},
    {"f32[4,0], i64[2] below 4"},
    {.problem = "f32[129280,256], i64[4096] below 129280", .bench = true}};

}  // namespace

extern const graph::OpDef gather_rows_op{.name = "gather_rows",
                                         .about = "y[i] = table[rows[i]]",
                                         .min_inputs = 2,
                                         .max_inputs = 2,
                                         .may_fail = true,
                                         .infer = infer,
                                         .grad = grad,
                                         .eval = {eval, eval},
                                         .cost = copy_cost,
                                         .samples = samples};

Value gather_rows(Here h, Value table_RD, Value rows_N) {
  return h.builder.add1(h, gather_rows_op, {{table_RD, rows_N}});
}

}  // namespace ops
