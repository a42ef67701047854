// one_hot: y[.., c] = 1 where index[..] == c, else 0. The number of classes is the result's last
// dim.
#include <algorithm>

#include "ops/core/elementwise.h"
#include "ops/core/indices.h"
#include "ops/core/layout.h"
#include "ops/ops.h"

namespace ops {
namespace {

Types infer(Shapes& s, TypesIn in, const Attrs&) {
  need_indices(s, in[0], "index");
  const graph::Type& out = s.given_type();
  need_number(s, out, "result");
  need_sizes(s, out);
  if (out.dims.size() != in[0].dims.size() + 1) {
    s.refuse("the result has one dim more than {}, found {}", s.text(in[0]), s.text(out));
  }
  for (size_t d = 0; d < in[0].dims.size(); ++d) {
    s.require_equal(in[0].dims[d], out.dims[d], "the leading dims are those of the index");
  }
  return {out};
}

void eval(const EvalContext& context, TensorsIn in, TensorsOut out, const Attrs&) {
  out[0] = context.make(0);
  const int64_t classes = context.shapes[0].back();
  const Tensor index = checked_indices(in[0], classes, "one_hot");
  const int64_t* id = index.data<int64_t>();
  with_number_type(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = out[0].data<T>();
    std::fill_n(to, out[0].count(), T(0));
    for (int64_t i = 0; i < index.count(); ++i) to[i * classes + id[i]] = T(1);
  });
}

constexpr graph::Sample samples[] = {
    {"i64[9] below 6 | | f32[9,6]"},      {"i64[u0,3] below 4 | | f32[u0,3,4]"},
    {"i64[2] below 3 | | f32[2,u0 + 3]"}, {"i64[0] | | f32[0,0]"},
    {"i64[] below 2 | | f32[2]"},         {"i64[5] below 3 | | i64[5,3]"},
    {"i64[1] below 1 | | f32[1,1]"}};

}  // namespace

extern const graph::OpDef one_hot_op{.name = "one_hot",
                                     .about = "1 at index in a new last dim, else 0",
                                     .type_is_attribute = true,
                                     .may_fail = true,
                                     .infer = infer,
                                     .eval = {eval, eval},
                                     .cost = copy_cost,
                                     .samples = samples};

Value one_hot(Here h, Value index, const Expr& classes, DType dtype) {
  graph::Type type = h.builder.type(index);
  type.dtype = dtype;
  type.dims.push_back(classes);
  return h.builder.add1(h, one_hot_op, {{index}}, {}, {std::move(type)});
}

}  // namespace ops
