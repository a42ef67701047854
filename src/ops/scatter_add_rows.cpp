// scatter_add_rows: y[r] = the sum of x[i] over the i with rows[i] == r, added in order of i from
// the first one on; 0 where there is none. Sums in the dtype of x. The gradient of gather_rows.
#include <algorithm>
#include <vector>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/scatter.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs& attrs) {
  s.need_float(in[0], "x");
  return infer_scatter_rows(s, in, attrs);
}

Values grad(Builder& b, ValuesIn in, ValuesIn, ValuesIn dy, const Attrs&) {
  return {gather_rows(b, dy[0], in[1]), {}};
}

// Positions i ordered by rows[i], then by i: those of row r are at [first[r], first[r + 1]).
struct Sources {
  std::vector<int64_t> first, order;
};
Sources sources_by_row(const Tensor& rows, int64_t count) {
  const int64_t* row = rows.data<int64_t>();
  Sources s{std::vector<int64_t>(count + 1), std::vector<int64_t>(rows.count())};
  for (int64_t i = 0; i < rows.count(); ++i) ++s.first[row[i] + 1];
  for (int64_t r = 0; r < count; ++r) s.first[r + 1] += s.first[r];
  std::vector<int64_t> next(s.first.begin(), s.first.end() - 1);
  for (int64_t i = 0; i < rows.count(); ++i) s.order[next[row[i]]++] = i;
  return s;
}

template <class T>
void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const Tensor x = with_packed_rows(context, in[0]);
  const int64_t count = out[0].dim(0), width = row_elements(x), stride = x.strides()[0];
  const Sources s = sources_by_row(checked_indices(in[1], count, "scatter_add_rows"), count);
  const T* from = x.data<T>();
  T* to = out[0].data<T>();
  const int64_t grain = grain_of(width * static_cast<int64_t>(sizeof(T)));
  context.pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* sum = to + r * width;
      if (s.first[r] == s.first[r + 1]) {
        std::fill_n(sum, width, T(0));
        continue;
      }
      std::copy_n(from + s.order[s.first[r]] * stride, width, sum);
      for (int64_t k = s.first[r] + 1; k < s.first[r + 1]; ++k) {
        const T* add = from + s.order[k] * stride;
        for (int64_t j = 0; j < width; ++j) sum[j] += add[j];
      }
    }
  });
}

// Up to 9 rows meet in one: 8 additions of half an ulp, relative to the sum of magnitudes.
constexpr graph::Sample samples[] = {
    {"f32[9,4], i64[9] below 6 | rows=6", 1e-6},
    {"f32[u0,3], i64[u0] below 2 | rows=2", 2e-6},
    {"f32[7], i64[7] below 2 | rows=u0 + 2", 1e-6},
    {"f32[0,4], i64[0] | rows=3"},
    {"f32[0,4], i64[0] | rows=0"},
    {"f32[1,1], i64[1] below 1 | rows=1"},
    {"f32[3,2,2], i64[3] below 2 | rows=2", 1e-6},
    {.problem = "f32[4096,256], i64[4096] below 129280 | rows=129280", .bench = true}};

}  // namespace

extern const graph::OpDef scatter_add_rows_op{
    .name = "scatter_add_rows",
    .about = "y[r] = sum of x[i] with rows[i] = r, in order of i",
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = scatter_rows_attrs,
    .may_fail = true,
    .infer = infer,
    .grad = grad,
    .eval = {eval<float>, eval<double>},
    .cost = copy_cost,
    .samples = samples};

Value scatter_add_rows(Here h, Value x_ND, Value rows_N, const Expr& rows) {
  return h.builder.add1(h, scatter_add_rows_op, {{x_ND, rows_N}}, {{"rows", rows}});
}

}  // namespace ops
